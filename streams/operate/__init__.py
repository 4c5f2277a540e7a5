"""What people run beside a job: look at it, explain it, put letters back, try it out."""
