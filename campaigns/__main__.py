"""``python -m campaigns`` is ``kvoracle``."""

from campaigns.start import main

main()
