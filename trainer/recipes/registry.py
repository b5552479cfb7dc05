"""Which class implements which recipe. Imports torch; reached through `load_recipe` only."""

from trainer.recipes.image_cnn import ImageRecipe
from trainer.recipes.recipe import Recipe
from trainer.recipes.tabular_mlp import TabularRecipe
from trainer.recipes.text_bow import TextRecipe

IMPLEMENTATIONS: dict[str, Recipe] = {
    recipe.spec.name: recipe for recipe in (ImageRecipe(), TextRecipe(), TabularRecipe())
}
