"""Rio, Barlier, Colin and Soare 2023: best-arm identification by votes."""
