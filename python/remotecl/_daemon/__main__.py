"""`python -m remotecl._daemon` is the command `remotecl-server`."""

from .launcher import main

if __name__ == "__main__":
    main()
