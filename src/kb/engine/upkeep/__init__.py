"""What goes on beside the jobs, and nobody waits for.

forgetting   what is old
tuning       keeping search quick
scrub        checking what is stored
caretaker    which worker does all of this
shortfall    what each worker has told of what it lacks itself
"""
