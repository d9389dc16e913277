from django.apps import AppConfig


class ConfigConfig(AppConfig):
    name = "planner.config"
    label = "config"
