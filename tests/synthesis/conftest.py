"""Commands that tests run in this process compute second opinions in it too."""

from support.checks import checks_in_this_process as checks_in_this_process
