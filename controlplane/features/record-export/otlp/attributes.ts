import type { Attribute } from './attribute.ts'
import { CREDENTIAL, DECISION, REFUSALS } from './decision-attributes.ts'
import { recordActionText } from './record-action-text.ts'

/** Attributes that OpenTelemetry's semantic conventions define. */
const CONVENTIONS: readonly Attribute[] = [
  {
    name: 'log.record.uid',
    meaning: 'id of the record; the same when the record is sent again',
    value: ({ id }) => id,
  },
  {
    name: 'http.request.method',
    meaning: 'method; absent in an aggregate record',
    value: ({ method }) => (method === '*' ? null : method),
  },
  { name: 'server.address', meaning: 'host of the request', value: ({ host }) => host },
  { name: 'url.path', meaning: 'path of the request', value: ({ path }) => path?.split('?', 1)[0] },
  {
    name: 'url.query',
    meaning: 'query of the request, without credentials',
    value: ({ path }) => (path?.includes('?') ? path.slice(path.indexOf('?') + 1) : null),
  },
  {
    name: 'http.response.status_code',
    meaning: 'status that the agent received',
    value: ({ status }) => status,
  },
  {
    name: 'error.type',
    meaning: 'kind of a failed request, such as `timeout`',
    value: ({ error_type }) => error_type,
  },
  {
    name: 'k8s.namespace.name',
    meaning: 'namespace of the pod that sent the request',
    value: ({ instance }) => instance?.pod.split('/')[0],
  },
  {
    name: 'k8s.pod.name',
    meaning: 'its pod',
    value: ({ instance }) => instance?.pod.split('/')[1],
  },
  { name: 'k8s.pod.uid', meaning: 'UID of the pod', value: ({ instance }) => instance?.pod_uid },
]

/** Attributes that describe the request. */
const REQUEST: readonly Attribute[] = [
  {
    name: 'chaperone.gateway',
    meaning: 'Gateway, `namespace/name`',
    value: ({ gateway }) => gateway,
  },
  {
    name: 'chaperone.process.id',
    meaning: 'gateway process',
    value: ({ process_id }) => process_id,
  },
  {
    name: 'chaperone.seq',
    meaning: 'sequence number of the record in its process; a gap is a lost record',
    value: ({ seq }) => seq,
  },
  { name: 'chaperone.agent', meaning: 'agent', value: ({ agent }) => agent },
  {
    name: 'chaperone.sandbox',
    meaning: 'Sandbox of the pod, `namespace/name`',
    value: ({ instance }) => instance?.sandbox,
  },
  {
    name: 'chaperone.claim',
    meaning: 'SandboxClaim of the pod, `namespace/name`',
    value: ({ instance }) => instance?.claim,
  },
  { name: 'chaperone.connector', meaning: 'Connector', value: ({ connector }) => connector },
  {
    name: 'chaperone.action.type',
    meaning: 'action, such as `codehost.pr.merge` (GitHub); the riskiest one of several',
    value: ({ action_type }) => action_type,
  },
  {
    name: 'chaperone.action.names',
    meaning: 'names of the actions of a request with several',
    value: ({ actions }) => actions,
  },
  {
    name: 'chaperone.action.count',
    meaning: 'number of these actions',
    value: ({ action_count }) => action_count,
  },
  {
    name: 'chaperone.action.details',
    meaning:
      'the first 64 of these actions with effect, target and effect classes, such as `llm_a.provider_tool.mcp: write, mcp.example.com (delegate, egress)` (OpenAI)',
    value: ({ action_details }) => action_details?.map(recordActionText),
  },
  {
    name: 'chaperone.function_tools',
    meaning: 'number of tools in a model request that the agent itself runs',
    value: ({ function_tools }) => function_tools,
  },
  {
    name: 'chaperone.action.candidates',
    meaning: 'possible actions of an ambiguous request',
    value: ({ candidates }) => candidates,
  },
  { name: 'chaperone.effects', meaning: 'effect classes', value: ({ effects }) => effects },
  {
    name: 'chaperone.handle',
    meaning: 'creator of the provider resources in the request: `own`, `foreign` or `unknown`',
    value: ({ handle }) => handle,
  },
  {
    name: 'chaperone.transport',
    meaning: 'transport of the request',
    value: ({ transport }) => transport,
  },
  {
    name: 'chaperone.request.size',
    meaning: 'bytes from the agent',
    value: ({ bytes_in }) => bytes_in,
  },
  {
    name: 'chaperone.response.size',
    meaning: 'bytes to the agent',
    value: ({ bytes_out }) => bytes_out,
  },
  {
    name: 'chaperone.latency_ms',
    meaning: 'milliseconds from the request to the end of the response (double)',
    value: ({ latency_ms }) => latency_ms,
    isDouble: true,
  },
  {
    name: 'chaperone.overhead_ms',
    meaning: 'milliseconds that the gateway itself added (double)',
    value: ({ overhead_ms }) => overhead_ms,
    isDouble: true,
  },
]

/** Attributes of the log record of a governed request, in the order of the documentation. */
export const ATTRIBUTES: readonly Attribute[] = [
  ...CONVENTIONS,
  ...REQUEST,
  ...DECISION,
  ...CREDENTIAL,
  ...REFUSALS,
]
