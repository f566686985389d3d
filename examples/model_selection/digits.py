"""Eight classifiers as arms, on an agent's private shard of scikit-learn's handwritten digits.

Everything here runs in the agent's own process. The candidates are trained on the public part of
the data and never see a private record. A pull of arm k scores candidate k on one private record:
reward 1 if it names the digit, else 0.
"""

import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

PUBLIC = 300
"""Records that everybody may see; the other 1,497 are split among the agents."""

SPLIT_SEED = 0

CANDIDATES = {
    "support vectors, rbf kernel": lambda: SVC(gamma=0.001),
    "15 nearest neighbours": lambda: KNeighborsClassifier(15),
    "linear discriminant": LinearDiscriminantAnalysis,
    "nearest centroid": NearestCentroid,
    "Gaussian naive Bayes": GaussianNB,
    "tree of depth 6": lambda: DecisionTreeClassifier(max_depth=6, random_state=0),
    "tree of depth 3": lambda: DecisionTreeClassifier(max_depth=3, random_state=0),
    "always the commonest digit": DummyClassifier,
}
NAMES = list(CANDIDATES)


def split(agents: int) -> tuple[NDArray[np.intp], list[NDArray[np.intp]]]:
    """Indices of the public records, and of each agent's private ones."""
    order = np.random.default_rng(SPLIT_SEED).permutation(len(load_digits().target))
    return order[:PUBLIC], np.array_split(order[PUBLIC:], agents)


def correct(private: NDArray[np.intp], public: NDArray[np.intp]) -> NDArray[np.float64]:
    """Which candidate names which private record correctly: shape (candidates, records), 0 or 1."""
    images, digits = load_digits(return_X_y=True)
    scores = []
    for make in CANDIDATES.values():
        with warnings.catch_warnings():
            # candidates warn of border pixels that are empty in every image
            warnings.simplefilter("ignore", UserWarning)
            model = make().fit(images[public], digits[public])
        scores.append(model.predict(images[private]) == digits[private])
    return np.array(scores, dtype=float)


class PrivateShard:
    """One agent's arms.

    Each arm goes through the shard in a random order of its own, again and again. So after n pulls
    of an arm, no record was used more than ceil(n / records) times.
    """

    def __init__(self, agent: int, agents: int, seed: int) -> None:
        public, shards = split(agents)
        # scored once, because pulls are many
        scores = correct(shards[agent], public)
        generator = np.random.default_rng([seed, agent])
        self._scores = generator.permuted(scores, axis=1)
        self._used = [0] * len(scores)

    def skip(self, given: list[int]) -> None:
        """Continue after an earlier object, which gave `given[k]` rewards of arm k."""
        self._used = list(given)

    def pull(self, arm: int, count: int) -> NDArray[np.float64]:
        """The next `count` rewards of candidate `arm`."""
        scores = self._scores[arm]
        places = (self._used[arm] + np.arange(count)) % len(scores)
        self._used[arm] += count
        rewards: NDArray[np.float64] = scores[places]
        return rewards
