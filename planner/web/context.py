def site(request): return {}
