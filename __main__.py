"""`python -m dpmosaic` is the command `dpmosaic`."""

from .command import main

if __name__ == "__main__":
    main()
