def guess(low, high, answers):
    for number, how in answers:
        if how == "less":
            high = min(high, number - 1)
        else:
            low = max(low, number + 1)
    return (low + high) // 2
