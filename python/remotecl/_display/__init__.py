"""What people see: tables as text and as HTML."""
