def guess(low, high, answers):
    return low
