import type { Action, Effect, Parameters, Resource, RiskLevel } from '../action/action.ts'
import type { EffectClass } from '../action/effect-class.ts'
import type { CanonicalRequest, RawHeaders, Refusal } from '../request/canonical.ts'
import type { FindRules, FoundMembers } from '../request/json/member-finder.ts'
import type { OverridableFormat } from '../request/method-override.ts'
import type { LookUps } from './binding/look-up.ts'
import type { Pins } from './binding/pin.ts'
import type { Commits } from './codehost/push/pack.ts'
import type { CredentialCarriers } from './credentials/carriers.ts'
import type { IdentityRead } from './credentials/identity-reads.ts'
import type { EventFormat, HeldRequest } from './event-format.ts'
import type { HeadReader, UploadFacts, UploadReader } from './fields/body-readers.ts'
import type { HandleReader } from './handles/handle.ts'
import type { HostedWork } from './hosted-work/table.ts'
import type { McpTool } from './mcp/tool-effects.ts'
import type { MessageProtocol } from './message-protocol.ts'
import type { NameRules } from './names.ts'
import type { ProviderError } from './provider-error.ts'
import type { Discriminator } from './rows/discriminator.ts'

/**
 * How the gateway sends a credential. `bearer`, `token`: in `Authorization` with this scheme; `basic`:
 * `Authorization: Basic base64(username:secret)`; `header`: as the value of `header`; `none`: not at all.
 */
export type AuthScheme =
  | { readonly type: 'bearer' }
  | { readonly type: 'token' }
  | { readonly type: 'basic'; readonly username?: string }
  | { readonly type: 'header'; readonly header: string }
  | { readonly type: 'none' }

/** A request body, reduced to the parts that its classification needs. */
export type BodyView =
  | { readonly kind: 'absent' }
  /** `found`: members that the scan found by the connector's `find` rules. */
  | { readonly kind: 'json'; readonly value: unknown; readonly found?: readonly FoundMembers[] }
  | {
      readonly kind: 'form'
      readonly fields: ReadonlyArray<readonly [string, string]>
      readonly bytes?: Uint8Array
    }
  /** `bytes`: the body, if all of it was read. `acts`, `fields`: what `readUpload` found in the body. */
  | ({ readonly kind: 'opaque'; readonly bytes?: Uint8Array } & Partial<Pick<UploadFacts, 'acts' | 'fields'>>)
  /** First bytes of a body. `commits`: the commits in these bytes if the body is a push; null if none are needed. */
  | { readonly kind: 'head'; readonly bytes: Uint8Array; readonly commits: Commits | null }
  /**
   * A body with the media type of JSON that is not JSON. The body causes no action, except on MCP: there the action is
   * `mcp.rpc.unknown`, or a refusal if some servers would read the body.
   */
  | { readonly kind: 'invalid'; readonly detail: string; readonly text: string }

/**
 * The classification of a request.
 * `actions`: the request performs all of them (an MCP batch performs several); the strictest decision applies.
 * `announces`: actions that a later request may perform. A request that announces actions (the discovery of a push)
 * performs none of them; the request is denied if all of them are denied, and never held.
 * `candidates`: the request performs exactly one of them. With `settledBy: 'body'` (the default) the body determines
 * which one. With `settledBy: 'server'` the request does not determine which one, so the strictest decision about a
 * candidate applies.
 */
export type Named = {
  /** Number of function tools in a model request. The agent executes them, so they have no actions. */
  readonly functionTools?: number
} & (
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
)

/** The result of a classification: the actions of a request, or a refusal. */
export type Classification = Named | Refusal

/**
 * One operation of an API: a row of the catalogue. Templates: `/repos/{owner}/{repo}/pulls/{number}`; `{path+}` is a
 * tail that may contain `/`, plain or as `%2F`; `{name/}` is one segment that may contain `%2F`; `{number}` and
 * `{…_number}` accept decimal numbers only.
 */
export type Row = {
  /** HTTP method in upper case; `*` for an API that ignores the method. */
  readonly method: string
  readonly template: string
  readonly type: string
  readonly effect: Effect
  readonly risk: RiskLevel
  /** Condition on the body or query that selects this row among the rows of the same method and template. */
  readonly when?: Discriminator
  /** Names of body or query fields that become parameters of the action, in addition to those of the template. */
  readonly parameters?: readonly string[]
  /** Names among `parameters` that may occur several times. */
  readonly lists?: readonly string[]
  readonly hints?: Readonly<Record<string, boolean>>
  /** True if the body is a file, alone or in a multipart form, and therefore contributes no parameters. */
  readonly bodyIsContent?: boolean
  /**
   * Set if the body may be a file, alone or in a form. The gateway can hold such a request without reading its body.
   */
  readonly bodies?: 'opaque'
  /** True if the provider serves the operation without a credential, so that the gateway adds none. */
  readonly isAnonymous?: boolean
  /** True if the API accepts bodies larger than `LIMITS.modelBodyBytes` for this operation. */
  readonly isLong?: boolean
  /**
   * True if another row describes the operation at its main address. This row describes the operation at an older or
   * alternative address, or for another kind of owner of the resource.
   */
  readonly isAlternative?: boolean
  /** Effect classes that a Connector declares for the row. The classes of built-in rows are in `effects.ts`. */
  readonly effects?: readonly EffectClass[]
  /**
   * Permissions that an installation token of a GitHub App needs for the operation, each as `name:access`. Where the
   * provider requires only one of several permissions, the list has all of them. Absent if they are not known.
   */
  readonly permissions?: readonly string[]
}

/** Properties of an action name. `method` and `template` are present if a row describes the action. */
export type CatalogueRow = Pick<Row, 'type' | 'effect' | 'risk'> &
  Partial<
    Pick<Row, 'method' | 'template' | 'hints' | 'parameters' | 'bodies' | 'isAlternative' | 'permissions'>
  >

/** An operation that a Connector declares in `spec.actions[]`. Built-in rows take precedence. */
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
  /** For type `mcp` only: the paths that accept JSON-RPC. */
  readonly endpoint?: readonly string[]
  /** For type `mcp` only: effect classes of tools. */
  readonly mcpTools?: readonly McpTool[] | undefined
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
 * Contract of a connector type (spec 4.1: Name, Domains, ParseAction, InjectCredentials). Its functions are pure: no
 * I/O, no clock; equal inputs give equal results. A new type has a `name` of `[a-z0-9_]+`, its action types begin with
 * the name and a dot, and `BUILT_IN` in `registry.ts` contains it. The schemas, the custom resource definitions, the
 * command line, the dashboard and the documentation are derived from `BUILT_IN`.
 *
 * - `parseAction` receives an unambiguous request: segments decoded once, no dot or empty segments. It returns
 *   `<name>.unmapped.<method>` (`unmappedAction`) for unknown requests, never a narrower name. It never throws; for an
 *   ambiguous request it returns a `Refusal`, which becomes a 400.
 * - `injectCredentials` runs after the agent's own credentials were removed (Authorization, cookies, common key
 *   headers, and the connector's `carriers`). Afterwards the request carries exactly one credential, or none with the
 *   scheme `none`. `injectAuth` is the usual implementation.
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
   * Returns the body keys that the classification of this request depends on, as paths (`state`, `params.name`); empty
   * if it does not depend on the body.
   */
  decidingKeys?(request: CanonicalRequest, config: ConnectorConfig): readonly string[]
  /** Reports whether the body may contain further actions. If so, the gateway reads the body before the decision. */
  bodyMayAct?(request: CanonicalRequest, config: ConnectorConfig): boolean
  /**
   * Returns the paths (see `scanJson`) of the members that classify and describe a request. The JSON body of such a
   * request is always scanned to the end before the decision, and the body view `json` contains only these members.
   * Null for a request whose body is not scanned in this way.
   */
  scannedMembers?(request: CanonicalRequest, config: ConnectorConfig): readonly string[] | null
  /**
   * Rules for members to find at any depth of a JSON body. If a type has such rules, a body that is not JSON is
   * refused.
   */
  readonly find?: FindRules
  /**
   * Returns a reader for an upload that may contain batch requests; null for other requests. The reader returns the
   * acts that the provider performs for the batch requests. It receives null for a body beyond the size limit.
   */
  readUpload?(request: CanonicalRequest, config: ConnectorConfig): UploadReader | null
  /**
   * Returns a reader for a request that the first bytes of its body classify, regardless of its media type.
   * `parseAction` gets the bytes as the body view `head`. Null for other requests.
   */
  readsHead?(request: CanonicalRequest, config: ConnectorConfig): HeadReader | null
  /** Reads handles: ids of provider resources that agents receive and use later. */
  readonly handles?: HandleReader
  /** Describes work that the provider continues after its response, and the operations that cancel it. */
  readonly hostedWork?: HostedWork
  /** The protocol of a WebSocket whose messages are separate requests. */
  readonly messages?: MessageProtocol
  /** Name of the provider's API over a WebSocket whose messages the gateway does not read (`<name>.websocket.open`). */
  readonly unreadSocketApi?: string
  /** Returns the actions that the provider may perform for unread messages of a WebSocket. */
  unreadActions?(config: ConnectorConfig): readonly Action[]
  /** Adds the credential to a request without the agent's own credentials. */
  injectCredentials(edit: OutboundEdit, secret: string, auth: AuthScheme, request: CanonicalRequest): void
  /** True if some clients of the API fail over HTTP/2. ALPN then selects HTTP/1.1 if the client offers both. */
  readonly prefersHttp1?: boolean
  /**
   * Headers, parameters and fields in which agents send their own credentials, besides Authorization,
   * Proxy-Authorization and Cookie.
   */
  readonly carriers: CredentialCarriers
  readonly defaultAuth: AuthScheme
  /** Formats refusals like errors of the provider. Default: the product's own format. */
  readonly providerError?: ProviderError
  /**
   * Returns the members of a JSON body that the approval card shows in addition to the action's parameters. Default:
   * the top-level fields that differ from the parameters.
   */
  undescribed?(body: unknown, config: ConnectorConfig): unknown
  /** True if every row of the request's method and path declares `bodies: 'opaque'` (see `Row.bodies`). */
  hasOpaqueBody?(request: CanonicalRequest, config: ConnectorConfig): boolean
  /** True if the request also reads data that its actions do not name, such as the selection of a GraphQL mutation. */
  readsMore?(request: CanonicalRequest, config: ConnectorConfig): boolean
  /** True if every row of the request's method and path needs no credential. */
  needsNoCredential?(request: CanonicalRequest, config: ConnectorConfig): boolean
  /** True if an unreadable body has an action of its own. The card of a held request then quotes the body. */
  readonly quotesUnreadBody?: boolean
  /** Returns the format of server-sent events of a held request; null if the client did not request events. */
  eventFormat?(held: HeldRequest): EventFormat | null
  /**
   * Members of a JSON body that a client regenerates for each retry. An approval is not bound to short strings and
   * numbers in them.
   */
  readonly unboundMembers?: readonly MemberPath[]
  /**
   * Body formats in which a server may read another method for a POST (`_method`). The gateway refuses forms and
   * multipart forms with such an override. It reads a JSON body if the decision would differ for another method. A
   * connector whose bodies are always read (`carriers.bodyFields`) needs no entry.
   */
  readonly overridable?: readonly OverridableFormat[]
  /** True if the API treats `items[]` and `items[0]` in queries as the list `items`. */
  readonly readsBrackets?: boolean
  /**
   * Loads the tables of the connector type. The gateway calls this function when a Connector of the type comes into
   * force, so that the first request does not wait. A process without such a Connector never loads the tables.
   */
  prepare?(): void
  /** Rules by which the provider compares names. Default: all values are compared exactly. */
  readonly names?: NameRules
  /** Look-ups at the provider that complete an action before its decision. */
  readonly lookUps?: LookUps
  /** Determines the resource states that approvals are bound to. */
  readonly pins?: Pins
  /** All action names, for access rules, policy tests and the dashboard; several rows may share a name. */
  readonly catalogue?: readonly CatalogueRow[]
  /** Returns an action submitted by name, with what its parameters add, and the further actions of such a request. */
  impliedActions?(action: Action, config: ConnectorConfig): readonly Action[] | Refusal
  /** Read request that tests the credential for a user. If absent, users cannot test the credential. */
  readonly identityRead?: IdentityRead
  /** Converts an action spec of the v1 API to a request, for `/execute`; undefined if the action has no REST form. */
  toRequest?(spec: ExecuteSpec, config: ConnectorConfig): ExecuteRequest | Refusal
}

/** An action spec of the v1 API, as submitted to `/execute`. */
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
