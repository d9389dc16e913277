from django.apps import AppConfig


class CatalogConfig(AppConfig):
    name = "planner.catalog"
    label = "catalog"
