"""`python -m experiments.accuracy`: run the study."""

from experiments.accuracy.study import main

main()
