from django.apps import AppConfig


class DesignsConfig(AppConfig):
    name = "planner.designs"
    label = "designs"
