"""Model files: the catalog of known models, their folder, and how they are fetched and checked."""

from localeval.models.files import SUMS, ModelFiles, catalog_file_path, listing, models_dir, resolve

__all__ = ["SUMS", "ModelFiles", "catalog_file_path", "listing", "models_dir", "resolve"]
