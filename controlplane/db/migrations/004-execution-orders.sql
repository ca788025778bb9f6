-- Orders and results on their way between replicas: a gateway is connected to one of them and may answer to another.
-- Worth nothing after a crash: orders are never repeated, and a result that is lost is unknown.

create unlogged table execution_orders (
  id         text primary key,
  gateway_id text not null,
  payload    json not null,
  taken_at   timestamptz,
  created_at timestamptz not null default now()
);

create unlogged table execution_results (
  order_id   text primary key,
  result     json not null,
  created_at timestamptz not null default now()
);
