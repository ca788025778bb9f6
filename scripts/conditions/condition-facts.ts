/** Description of a fact of conditions, for `docs/conditions.md`. */
export type FactText = {
  readonly content: string
  /** Condition that reads the fact; the tests compile and evaluate it. */
  readonly example: string
}

/** Descriptions by fact and field. Facts with arbitrary fields have the one field `NAME`. */
export const FACT_TEXTS: Readonly<Record<string, Readonly<Record<string, FactText>>>> = {
  action: {
    type: { content: 'Name of the action.', example: 'action.type.startsWith("codehost.pr.")' },
    connector: { content: 'Connector type of the action.', example: 'action.connector == "codehost"' },
    effect: {
      content: '`read` changes nothing, `compute` costs but changes nothing, `write` is everything else.',
      example: 'action.effect == "write"',
    },
    effects: {
      content:
        '[Effect classes](effect-classes.md) of the action. Unknown for unmapped operations and tunnels.',
      example: '"merge" in action.effects',
    },
    risk: { content: 'Risk of the action according to the catalogue.', example: 'action.risk == "medium"' },
    unmapped: {
      content: 'Whether the request is an operation that the catalogue lacks.',
      example: '!action.unmapped',
    },
  },
  resource: {
    provider: { content: 'Connector type of the resource.', example: 'resource.provider == "codehost"' },
    account: {
      content: 'Account or owner. Absent where the request has none.',
      example: 'resource.account == "acme"',
    },
    target: {
      content:
        'Repository, channel or other target, in the canonical spelling of the provider. Absent where the request has none; unknown where it gives only an id.',
      example: 'resource.target == "acme/site"',
    },
    raw_target: {
      content: 'Target as the request spells it.',
      example: 'resource.raw_target == "Acme/Site"',
    },
    environment: {
      content:
        'Environment of the Connector, else of the Gateway, else of the agent. If the request claims another one, both are decided and the stricter decision applies.',
      example: 'resource.environment == "staging"',
    },
  },
  parameters: {
    NAME: {
      content:
        'Parameters that the catalogue declares for the action, from path, query and body. A parameter that the request lacks is absent. `chaperone catalogue` and the pages of `npm run docs` list them.',
      example: 'has(parameters.number) && parameters.number == 7',
    },
  },
  hints: {
    irreversible: { content: 'Whether the action cannot be undone.', example: '!hints.irreversible' },
    financial_impact: { content: 'Whether the action moves money.', example: '!hints.financial_impact' },
    production_target: {
      content:
        'Whether the environment is `production`. Other hints exist only where a caller of the API states them.',
      example: '!hints.production_target',
    },
  },
  context: {
    NAME: {
      content: 'Context that a caller of `POST /api/v1/actions` adds; empty for requests through a gateway.',
      example: 'context.reason == "release 1.2"',
    },
  },
  agent: {
    id: { content: 'Id of the agent.', example: 'agent.id.startsWith("agent_")' },
    name: {
      content: 'Name of the agent, in a cluster `namespace/name`.',
      example: 'agent.name == "release-bot"',
    },
    environment: { content: 'Environment of the agent.', example: 'agent.environment == "staging"' },
    runtime: { content: 'Runtime that the agent was registered with.', example: 'agent.runtime != ""' },
    status: {
      content:
        'Status of the agent. Requests of agents that are not active are refused before policies are evaluated.',
      example: 'agent.status == "active"',
    },
  },
  gateway: {
    name: {
      content:
        'Name of the Gateway. Absent for actions that are submitted to the API by an agent without a gateway.',
      example: 'gateway.name == "default"',
    },
    environment: {
      content: 'Environment of the Gateway, where it has one.',
      example: '!has(gateway.environment)',
    },
  },
  connector: {
    name: { content: 'Name of the Connector.', example: 'connector.name == "codehost"' },
    type: { content: 'Type of the Connector.', example: 'connector.type == "codehost"' },
    environment: {
      content: 'Environment of the Connector, where it has one.',
      example: 'connector.environment == "staging"',
    },
  },
  request: {
    method: {
      content: 'HTTP method. All fields of `request` are absent for actions that are submitted to the API.',
      example: 'request.method == "PUT"',
    },
    host: { content: 'Host, in lower case.', example: 'request.host == "api.github.com"' },
    path: {
      content:
        'Path without query, decoded once; `%25` stays. Unknown for paths that servers read differently (`;`, `%2F`).',
      example: 'request.path.startsWith("/repos/")',
    },
    segments: { content: 'Decoded segments of the path.', example: 'request.segments[0] == "repos"' },
    raw_path: { content: 'Path as the request spells it.', example: 'request.raw_path.endsWith("/merge")' },
    query: {
      content: 'Query parameters by name. A repeated parameter is a list.',
      example: 'request.query.draft == "true"',
    },
    headers: {
      content:
        'End-to-end header fields by name in lower case, without credentials. A repeated field is a list.',
      example: '"x-team" in request.headers && request.headers["x-team"] == "web"',
    },
    body: {
      content:
        'JSON value, or the fields of a form. Absent without a body; unknown for other formats and for bodies beyond the limits.',
      example: 'request.body.merge_method == "squash"',
    },
  },
  risk: {
    score: {
      content:
        'Risk score from 0 to 1: low 0.2, medium 0.5, high 0.8; irreversible adds 0.15, production and financial impact 0.1 each.',
      example: 'risk.score >= 0.5',
    },
    level: { content: 'Risk of the action, as `action.risk`.', example: 'risk.level == "medium"' },
    factors: {
      content: 'Parts that add up to `risk.score`, each as a text.',
      example: 'risk.factors.exists(f, f == "medium risk +0.5")',
    },
  },
}

export const NOW_TEXT: FactText = {
  content: 'Time of the decision, with milliseconds.',
  example: 'now.getDayOfWeek("Europe/Berlin") in [1, 2, 3, 4, 5]',
}
