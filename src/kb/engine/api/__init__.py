"""The HTTP API: a module a resource, and beside them

app                             all of it together
guard, marks, unread            who is let in, and what is refused without being read
bodies, parameters, uploads     what requests hold
answers, pieces                 what they are answered with
errors, openapi                 problems, and how all of it is described
web                             the files of the page
"""
