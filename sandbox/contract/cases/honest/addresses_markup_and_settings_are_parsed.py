import configparser, email.message, html, html.parser, tomllib, urllib.parse
import xml.etree.ElementTree as tree
parts = urllib.parse.urlsplit("https://a.b:8/c?d=1&d=2#e")
print(parts.hostname, parts.port, urllib.parse.parse_qs(parts.query), urllib.parse.quote("a é"))
print(html.escape("<&>"), html.unescape("&eacute;"), tomllib.loads("a = [1]\n[b]\nc = 'd'"))
root = tree.fromstring("<r><i n='1'>x</i><i n='2'/></r>")
print([item.get("n") for item in root.iter("i")], tree.tostring(root[0]))
settings = configparser.ConfigParser()
settings.read_string("[part]\nkey = 5\n")
print(settings["part"].getint("key"))
class Finder(html.parser.HTMLParser):
    def handle_starttag(self, tag, attrs): print(tag, attrs)
Finder().feed("<a href='x'>y</a>")
message = email.message.EmailMessage()
message["Subject"] = "hello"
print(message.as_string().strip())
