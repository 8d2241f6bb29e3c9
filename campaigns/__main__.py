"""``python -m campaigns`` is ``kvoracle``."""

from campaigns.command_line import main

main(prog_name="kvoracle")
