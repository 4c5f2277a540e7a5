"""`eddy notify`: alerts of the job, carried to the people and programs that have to know."""
