import type { Action, Effect, Parameters, Resource, RiskLevel } from '../action/action.ts'
import type { EffectClass } from '../action/effect-class.ts'
import type { CanonicalRequest, RawHeaders, Refusal } from '../request/canonical.ts'
import type { FindRules, FoundMembers } from '../request/json/member-finder.ts'
import type { OverridableFormat } from '../request/method-override.ts'
import type { LookUps } from './binding/look-up.ts'
import type { Pins } from './binding/pin.ts'
import type { Commits } from './codehost/push/pack.ts'
import type { EventFormat, HeldRequest } from './event-format.ts'
import type { HeadReader, UploadReader } from './fields/body-readers.ts'
import type { HandleReader } from './handles/handle.ts'
import type { HostedWork } from './hosted-work/table.ts'
import type { MessageProtocol } from './message-protocol.ts'
import type { NameRules } from './names.ts'
import type { ProviderError } from './provider-error.ts'
import type { ProviderAct } from './provider-side/kinds.ts'

/** How the gateway sends a credential. `basic`: `Authorization: Basic base64(user:secret)`; `none`: not at all. */
export type AuthScheme =
  | { readonly type: 'bearer' }
  | { readonly type: 'token' }
  | { readonly type: 'basic'; readonly username?: string }
  | { readonly type: 'header'; readonly header: string }
  | { readonly type: 'none' }

/** A request body, reduced to what its classification needs. */
export type BodyView =
  | { readonly kind: 'absent' }
  /** `found`: members that the scan found by the connector's `find` rules. */
  | { readonly kind: 'json'; readonly value: unknown; readonly found?: readonly FoundMembers[] }
  | {
      readonly kind: 'form'
      readonly fields: ReadonlyArray<readonly [string, string]>
      readonly bytes?: Uint8Array
    }
  /** `bytes`: the body, if it was read whole. `acts`: the actions in an uploaded file that `readUpload` read. */
  | { readonly kind: 'opaque'; readonly bytes?: Uint8Array; readonly acts?: readonly ProviderAct[] }
  /** The first bytes of a body, and the commits in them if the classification needs these (see `HeadReader`). */
  | { readonly kind: 'head'; readonly bytes: Uint8Array; readonly commits: Commits | null }
  /**
   * A body with the media type of JSON that is not JSON. No action follows from it, except on MCP: there it is
   * `mcp.rpc.unknown`, unless some servers accept it.
   */
  | { readonly kind: 'invalid'; readonly detail: string; readonly text: string }

/**
 * The classification of a request.
 * `actions`: all of them happen (an MCP batch has several); the strictest decision applies.
 * `announces`: nothing happens yet, because the request only asks whether one of these actions may follow (the
 * discovery of a push). The request is denied if all of them are denied, and never held.
 * `candidates`: exactly one of them happens. With `settledBy: 'body'` (the default) the body determines which one. With
 * `server` the request does not determine it: all candidates must be allowed, and the strictest decision names the
 * request.
 */
export type Named =
  | {
      readonly kind: 'actions'
      readonly actions: readonly Action[]
      readonly announces?: readonly Action[]
    }
  | {
      readonly kind: 'candidates'
      readonly candidates: readonly Action[]
      readonly settledBy?: 'body' | 'server'
    }

/** The result of classifying a request. */
export type Classification = Named | Refusal

/**
 * One operation as data. Templates: `/repos/{owner}/{repo}/pulls/{number}`; `{path+}` is a tail that may contain `/`,
 * plain or as `%2F`; `{name/}` is one segment that may contain `%2F`; `{number}` and `{…_number}` accept decimal
 * numbers only.
 */
export type Row = {
  /** HTTP method in upper case; `*` for an API that ignores the method. */
  readonly method: string
  readonly template: string
  readonly type: string
  readonly effect: Effect
  readonly risk: RiskLevel
  /** Condition on the body or query that selects this row among those of the same method and template. */
  readonly when?: Discriminator
  /** Body or query fields to copy into the action's parameters, in addition to those of the template. */
  readonly parameters?: readonly string[]
  /** Names among `parameters` that may occur several times. */
  readonly lists?: readonly string[]
  readonly hints?: Readonly<Record<string, boolean>>
  /** The body is a file, alone or in a multipart form, so it has no parameters. */
  readonly bodyIsContent?: boolean
  /** The body may be a file, alone or in a form. The gateway can hold the request without reading its body. */
  readonly bodies?: 'opaque'
  /** The provider serves the operation without a credential, so the gateway adds none. */
  readonly isAnonymous?: boolean
  /** The API accepts bodies larger than `LIMITS.modelBodyBytes` for this operation. */
  readonly isLong?: boolean
  /**
   * The row is an older or alternative address of an operation that another row names, or the same operation on a
   * resource of another kind of owner.
   */
  readonly isAlternative?: boolean
  /** Effect classes that a Connector declares for the row. Built-in rows have theirs in a table (`effects.ts`). */
  readonly effects?: readonly EffectClass[]
}

/** Facts about an action name; `method` and `template` are present if a row describes the name. */
export type CatalogueRow = Pick<Row, 'type' | 'effect' | 'risk'> &
  Partial<Pick<Row, 'method' | 'template' | 'hints' | 'parameters' | 'bodies' | 'isAlternative'>>

/**
 * Condition that selects a row. `equals` compares strictly (only boolean true equals true); `present: 'string'`
 * requires a string under the key; `otherwise` applies if no other row does.
 */
export type Discriminator =
  | { readonly key: string; readonly in: 'query'; readonly equals: string }
  | { readonly key: string; readonly equals: string | boolean }
  | { readonly key: string; readonly present: 'string' }
  | { readonly key: string; readonly otherwise: true }

/** A catalogue row that `Connector.spec.actions[]` declares. Built-in rows take precedence. */
export type UserRow = {
  readonly method: string
  readonly path: string
  readonly action: string
  readonly effect: Effect
  readonly risk: RiskLevel
  readonly bodies?: 'readable' | 'opaque' | undefined
  /** Effect classes of the action; default: none. */
  readonly effects?: readonly EffectClass[] | undefined
}

/** Keys from the root object of a JSON body down to one member. */
export type MemberPath = readonly string[]

/** The fields of a Connector object that its connector type reads. */
export type ConnectorConfig = {
  readonly name: string
  readonly domains: readonly string[]
  readonly baseUrl?: string
  /** Type mcp only: the paths that accept JSON-RPC. */
  readonly endpoint?: readonly string[]
  readonly actions: readonly UserRow[]
  readonly environment?: string
}

export type ConnectorLabel = { readonly title: string; readonly credential: string }

/** Headers and query of the outbound request. The removal and the injection of credentials edit them in place. */
export type OutboundEdit = {
  rawHeaders: string[]
  rawTarget: string
}

/**
 * The contract of built-in and custom connectors (spec 4.1: Name, Domains, ParseAction, InjectCredentials). Pure: no
 * I/O, no clock; equal inputs give equal results. To add one, give it a `name` of `[a-z0-9_]+`, begin every action type
 * with that name and a dot, and add it to `BUILT_IN` in `registry.ts`: the schemas, the custom resource definitions,
 * the command line, the dashboard and the documentation follow from that list.
 *
 * - `parseAction` receives an unambiguous request: segments decoded once, no dot or empty segments. It returns
 *   `<name>.unmapped.<method>` (`unmappedAction`) for unknown requests, never a narrower name. It never throws; for an
 *   ambiguous request it returns a `Refusal`, which becomes a 400.
 * - `injectCredentials` runs after removal of the agent's own credentials (Authorization, cookies, common key
 *   headers, and the connector's `carriers`); afterwards the request carries exactly one. `injectAuth` is the usual
 *   implementation.
 */
export type Connector<Name extends string = string> = {
  readonly name: Name
  /** Title of the connector type, and name of its credential, on pages of the dashboard. */
  readonly label: ConnectorLabel
  /** Returns the configured domains, else those of the provider; empty if a Connector must configure them. */
  domains(config: ConnectorConfig): readonly string[]
  /** Classifies the request. Without `body`, a classification that depends on the body is returned as `candidates`. */
  parseAction(request: CanonicalRequest, body: BodyView | undefined, config: ConnectorConfig): Classification
  /**
   * Returns the body keys that the class of this request depends on, as paths (`state`, `params.name`); empty if it
   * does not depend on the body.
   */
  decidingKeys?(request: CanonicalRequest, config: ConnectorConfig): readonly string[]
  /** Reports whether the body may contain further actions. If so, the gateway reads it before the decision. */
  bodyMayAct?(request: CanonicalRequest, config: ConnectorConfig): boolean
  /**
   * Defined for requests whose JSON body is scanned to its end before the decision, independent of the rules. Returns
   * the members that classify and describe the request, as paths (see `scanJson`). The body view `json` then contains
   * nothing else. Null for other requests.
   */
  scannedMembers?(request: CanonicalRequest, config: ConnectorConfig): readonly string[] | null
  /** Rules for members to find at any depth. With rules, a body that is not JSON is refused. */
  readonly find?: FindRules
  /**
   * Defined for uploads that may contain batch requests. Returns a reader of the actions that the provider performs for
   * them; the reader gets no bytes for a file that exceeds the limit. Null for other requests.
   */
  readUpload?(request: CanonicalRequest, config: ConnectorConfig): UploadReader | null
  /**
   * Defined for requests that the first bytes of the body classify, independent of its media type. The bytes are passed
   * as the body view `head`.
   */
  readsHead?(request: CanonicalRequest, config: ConnectorConfig): HeadReader | null
  /** Reads ids of provider resources that agents receive and use later. */
  readonly handles?: HandleReader
  /** Work that the provider continues after its answer, and the operation that cancels it. */
  readonly hostedWork?: HostedWork
  /** The protocol of a WebSocket whose messages are separate requests. */
  readonly messages?: MessageProtocol
  /** Name of the provider's API over a WebSocket whose messages the gateway does not read (`<name>.websocket.open`). */
  readonly unreadSocketApi?: string
  /** Adds the credential to a request without the agent's own credentials. */
  injectCredentials(edit: OutboundEdit, secret: string, auth: AuthScheme, request: CanonicalRequest): void
  /** Some clients of the API fail over HTTP/2, so ALPN selects HTTP/1.1 if the client offers both. */
  readonly prefersHttp1?: boolean
  /**
   * Headers, parameters and fields in which agents send their own credentials, besides Authorization,
   * Proxy-Authorization and Cookie.
   */
  readonly carriers: CredentialCarriers
  readonly defaultAuth: AuthScheme
  /** The provider's error format. Without it, refusals always use the product's own format. */
  readonly providerError?: ProviderError
  /**
   * Returns the members of a JSON body that the action's parameters do not include; the approval card shows them.
   * Default: the top-level fields are compared with the parameters.
   */
  undescribed?(body: unknown, config: ConnectorConfig): unknown
  /** True if every row of the request's method and path declares opaque bodies. */
  hasOpaqueBody?(request: CanonicalRequest, config: ConnectorConfig): boolean
  /** True if every row of the request's method and path needs no credential. */
  needsNoCredential?(request: CanonicalRequest, config: ConnectorConfig): boolean
  /** A request with an unreadable body has an action of its own. It is held, and its card quotes the beginning. */
  readonly quotesUnreadBody?: boolean
  /**
   * Returns the format of server-sent events for the client of a held request; null if the client did not request
   * events.
   */
  eventFormat?(held: HeldRequest): EventFormat | null
  /**
   * Members of a JSON body that a client regenerates for each retry. An approval is not bound to short strings and
   * numbers in them.
   */
  readonly unboundMembers?: readonly MemberPath[]
  /**
   * Body formats in which a server may read another method for a POST (`_method`). The gateway refuses such forms and
   * multipart forms; it reads JSON if the other method would have another verdict. Unnecessary for a connector whose
   * bodies are read anyway (`carriers.bodyFields`).
   */
  readonly overridable?: readonly OverridableFormat[]
  /** True if the API treats `items[]` and `items[0]` in queries as the list `items`. */
  readonly readsBrackets?: boolean
  /**
   * Loads the tables of the connector type. The gateway calls it when a Connector of the type comes into force, so that
   * the first request does not wait; a process without such a Connector never loads them.
   */
  prepare?(): void
  /** Names that the provider compares without case. Default: all facts are compared exactly. */
  readonly names?: NameRules
  /** Look-ups at the provider before an action is decided. */
  readonly lookUps?: LookUps
  /** Determines the state that approvals are bound to (see `Pins`). */
  readonly pins?: Pins
  /** All action names, for access rules, policy tests and the dashboard; several rows may share a name. */
  readonly catalogue?: readonly CatalogueRow[]
  /** Returns the further actions of the provider for an action submitted by name and its parameters. */
  impliedActions?(action: Action, config: ConnectorConfig): readonly Action[] | Refusal
  /** Converts a v1 action spec to a request, for `/execute`; undefined if it has no REST form. */
  toRequest?(spec: ExecuteSpec, config: ConnectorConfig): ExecuteRequest | Refusal
}

/** An action as passed to `/execute`. */
export type ExecuteSpec = {
  readonly type: string
  readonly resource: Resource
  readonly parameters: Parameters
}

export type ExecuteRequest = {
  readonly method: string
  readonly host: string
  readonly target: string
  readonly headers: RawHeaders
  readonly body?: string
}

export type CredentialCarriers = {
  /** Header names in lower case. */
  readonly headers: readonly string[]
  /** Query parameter names. */
  readonly query: readonly string[]
  /** Query parameters that the API documents for its credential. A write may lose these, but no other. */
  readonly documentedQuery?: readonly string[]
  /** Names of form fields or top-level JSON members. If there are any, the gateway reads forms and JSON bodies. */
  readonly bodyFields: readonly string[]
  /** Path prefixes below which the body is a file. The gateway forwards it unread, whatever its media type. */
  readonly contentPaths?: readonly string[]
}
