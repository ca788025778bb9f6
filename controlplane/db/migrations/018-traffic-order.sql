-- Newest first is the primary key read backwards: one organisation has all the rows, and each index costs every record.
drop index traffic_time;
