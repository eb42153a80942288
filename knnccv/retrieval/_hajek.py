def check_hajek(problem): raise NotImplementedError
def hajek_variances(*a): raise NotImplementedError
