"""Why a session is judged as it is, in words: for the command line and for whatever shows it next."""
