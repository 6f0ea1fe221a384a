"""Model files: the catalog of known models, where they lie, how they are fetched and checked."""

from localeval.models.files import SUMS, ModelFiles, listing, models_dir, place, resolve

__all__ = ["SUMS", "ModelFiles", "listing", "models_dir", "place", "resolve"]
