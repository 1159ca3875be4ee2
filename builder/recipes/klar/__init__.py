"""KLAR: five questions of each fact."""
