"""Search by vectors: derived from the table `embeddings`, in memory and in files beside the base.

index       what searches use, and how it follows the base
snapshot    all vectors of one moment: those in files and those in memory
exact       few vectors: all are compared
coded       many: first their codes, then the vectors of the nearest
codes       what a code is
nearest     what both answer
reading     vectors as they stand in the base
files       how coded vectors lie beside the base
building    when such files are made, and how well they find
"""
