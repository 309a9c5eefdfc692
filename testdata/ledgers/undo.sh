: >undone
