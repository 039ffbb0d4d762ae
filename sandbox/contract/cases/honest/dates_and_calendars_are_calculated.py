import calendar, time
from datetime import date, datetime, timedelta, timezone
moment = datetime(2024, 2, 28, 23, 30, tzinfo=timezone.utc)
print((moment + timedelta(hours=1)).isoformat(), date(2024, 12, 30).isocalendar().week)
print(moment.astimezone(timezone(timedelta(hours=5, minutes=30))).strftime("%d %b %Y %H:%M %z"))
print(datetime.strptime("2024-02-29", "%Y-%m-%d").weekday(), calendar.isleap(1900))
print(time.strftime("%Y", time.gmtime(0)), datetime.now().year > 2020)
