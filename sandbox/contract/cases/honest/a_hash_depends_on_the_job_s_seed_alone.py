print(hash('a') == hash('a'), __import__('os').environ['PYTHONHASHSEED'])
