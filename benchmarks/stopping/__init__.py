"""Do stop rules hold what they promise?"""
