"""LibMultiLabel: its label tree of linear classifiers with its defaults.

Its tutorial on many labels trains and predicts with these functions, 256 rows at a time; ``save_pipeline`` and
``load_pipeline`` are its way to keep a model.
"""

from libmultilabel import linear
from matrices import run, top_of_blocks

ROWS = 256  # whose decision values for all labels are held at a time


if __name__ == "__main__":
    run(
        lambda X, Y: linear.train_tree(Y, X, verbose=False),  # as many threads as there are cores: it takes no number
        lambda model, folder: linear.save_pipeline(str(folder), None, model),
        lambda folder: linear.load_pipeline(str(folder / "linear_pipeline.pickle"))[1],
        lambda model, X: top_of_blocks(lambda rows: linear.predict_values(model, rows), X, ROWS),
    )
