import type { Action, Effect, Parameters, Resource, RiskLevel } from '../action/action.ts'
import type { EffectClass } from '../action/effect-class.ts'
import type { CanonicalRequest, RawHeaders, Refusal } from '../request/canonical.ts'
import type { FindRules, FoundMembers } from '../request/json/member-finder.ts'
import type { OverridableFormat } from '../request/method-override.ts'
import type { Sliced } from '../sliced.ts'
import type { LookUps } from './binding/look-up.ts'
import type { Pins } from './binding/pin.ts'
import type { Commits, PackTools } from './codehost/push/pack.ts'
import type { EventFormat, HeldRequest } from './event-format.ts'
import type { HandleReader } from './handles/handle.ts'
import type { MessageProtocol } from './message-protocol.ts'
import type { NameRules } from './names.ts'
import type { ProviderError } from './provider-error.ts'
import type { ProviderAct } from './provider-side/kinds.ts'

/** How a credential travels upstream. `basic` is `Authorization: Basic base64(user:secret)`; `none` sends none. */
export type AuthScheme =
  | { readonly type: 'bearer' }
  | { readonly type: 'token' }
  | { readonly type: 'basic'; readonly username?: string }
  | { readonly type: 'header'; readonly header: string }
  | { readonly type: 'none' }

/**
 * A request body as far as a class needs it. `complete` bodies were read whole and decoded strictly;
 * `seen` ones streamed by and only name the record afterwards, they never decide.
 */
export type BodyView =
  | { readonly kind: 'absent' }
  /** `found`: what a scan found by the connector's `find`. */
  | { readonly kind: 'json'; readonly value: unknown; readonly found?: readonly FoundMembers[] }
  | {
      readonly kind: 'form'
      readonly fields: ReadonlyArray<readonly [string, string]>
      readonly bytes?: Uint8Array
    }
  /** `bytes` where the body was read whole; `acts` where it is a file that `readUpload` read. */
  | { readonly kind: 'opaque'; readonly bytes?: Uint8Array; readonly acts?: readonly ProviderAct[] }
  /**
   * The first bytes of a body that streams on, and the commits in them; null where the class does not depend on them. See
   * `HeadReader`.
   */
  | { readonly kind: 'head'; readonly bytes: Uint8Array; readonly commits: Commits | null }
  /**
   * Labelled JSON, but no JSON. Decides nothing except on MCP, where it is `mcp.rpc.unknown`, unless some servers read
   * it all the same.
   */
  | { readonly kind: 'invalid'; readonly detail: string; readonly text: string }

/**
 * The name of a request.
 * `actions`: all of them happen (an MCP batch has several); the strictest decision holds for the request. With
 * `announces` nothing happens yet: the request only asks whether one of these may follow (the discovery of a push). It is
 * denied when every one of them is denied, and never held.
 * `candidates`: exactly one of them happens. `settledBy` is `body` (also when absent) where the body says which one, and
 * `server` where nothing in the request does: then all must pass, and the strictest decision names the request.
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

/** The result of naming a request. */
export type Classification = Named | Refusal

/**
 * One operation as data. Templates: `/repos/{owner}/{repo}/pulls/{number}`; `{path+}` is a tail that may hold `/`, plain
 * or as `%2F`; `{name/}` is one segment that may hold `%2F`; `{number}` and `{…_number}` take decimal numbers only.
 */
export type Row = {
  /** Upper case; `*` for an API that is blind to the method. */
  readonly method: string
  readonly template: string
  readonly type: string
  readonly effect: Effect
  readonly risk: RiskLevel
  /** Only with this body the row applies; rows of one method and template are candidates of one another. */
  readonly when?: Discriminator
  /** Body or query fields copied into the action's parameters, beside the template's own. */
  readonly parameters?: readonly string[]
  /** Those of `parameters` that may be sent several times by one name. */
  readonly lists?: readonly string[]
  readonly hints?: Readonly<Record<string, boolean>>
  /** The body is a file, alone or in a multipart form: no parameter is looked for in it. */
  readonly bodyIsContent?: boolean
  /** The body may be a file, alone or in a multipart form: such a request is held although nobody can read it. */
  readonly bodies?: 'opaque'
  /** The provider serves it without a credential: none is added. */
  readonly isAnonymous?: boolean
  /** The API accepts bodies beyond `LIMITS.modelBodyBytes`. */
  readonly isLong?: boolean
  /** An older or alternative address of a deed that another row names, or the same deed on another owner's thing. */
  readonly isAlternative?: boolean
  /** Effect classes that a Connector declares; built-in rows have those of their table (`effects.ts`). */
  readonly effects?: readonly EffectClass[]
}

/** What a connector knows of an action by its name; `method` and `template` where a row describes it. */
export type CatalogueRow = Pick<Row, 'type' | 'effect' | 'risk'> &
  Partial<Pick<Row, 'method' | 'template' | 'hints' | 'parameters' | 'bodies' | 'isAlternative'>>

/** `equals` compares strictly (boolean true only is true); `present: 'string'` wants a string under the key. */
export type Discriminator =
  | { readonly key: string; readonly in: 'query'; readonly equals: string }
  | { readonly key: string; readonly equals: string | boolean }
  | { readonly key: string; readonly present: 'string' }
  | { readonly key: string; readonly otherwise: true }

/** A catalogue row that a user declared in `Connector.spec.actions[]`; never overrides a built-in one. */
export type UserRow = {
  readonly method: string
  readonly path: string
  readonly action: string
  readonly effect: Effect
  readonly risk: RiskLevel
  readonly bodies?: 'opaque' | undefined
  /** Left out: none. */
  readonly effects?: readonly EffectClass[] | undefined
}

/** Keys from the root object of a JSON body down to one member. */
export type MemberPath = readonly string[]

/** What a connector may know of its own configuration. */
export type ConnectorConfig = {
  readonly name: string
  readonly domains: readonly string[]
  readonly baseUrl?: string
  /** Of type mcp: the only paths on which JSON-RPC is read. */
  readonly endpoint?: readonly string[]
  readonly actions: readonly UserRow[]
  readonly environment?: string
}

export type ConnectorLabel = { readonly title: string; readonly credential: string }

/** Headers and query of the outbound request, edited in place by strip and inject. */
export type OutboundEdit = {
  rawHeaders: string[]
  rawTarget: string
}

/**
 * The contract that built-in and custom connectors implement (spec 4.1: Name, Domains, ParseAction, InjectCredentials).
 * Pure: no I/O, no clock; the same input gives the same answer. To add one, give it a `name` of `[a-z0-9_]+`, let every
 * action type it returns begin with that name and a dot, and add it to `BUILT_IN` in `registry.ts`: the schemas, the
 * custom resource definitions, the command line, the dashboard and the documentation follow from that list.
 *
 * - `parseAction` gets a request that is already unambiguous: segments decoded once, no dot or empty segments. What it
 *   does not know it names `<name>.unmapped.<method>` (`unmappedAction`), never by a narrower name. It never throws;
 *   what it cannot read in one way only is a `Refusal`, which the agent gets as a 400.
 * - `injectCredentials` runs after every credential of the agent's own was taken out (Authorization, cookies, common
 *   key headers, and the connector's `carriers`); after it the request carries exactly one. `injectAuth` does the usual.
 */
export type Connector<Name extends string = string> = {
  readonly name: Name
  /** Names of the connector type and of its credential on pages of the dashboard. */
  readonly label: ConnectorLabel
  /** Domains it owns: the configured ones, else its own; empty when they must be configured. */
  domains(config: ConnectorConfig): readonly string[]
  /** Names the request. `body` is given once it was read; without it a body-dependent class yields `candidates`. */
  parseAction(request: CanonicalRequest, body: BodyView | undefined, config: ConnectorConfig): Classification
  /** Body keys that the class of this request depends on, as paths (`state`, `params.name`); empty when it does not. */
  decidingKeys?(request: CanonicalRequest, config: ConnectorConfig): readonly string[]
  /** True where the body may hold further actions of a request that its line names: it is read before the decision. */
  bodyMayAct?(request: CanonicalRequest, config: ConnectorConfig): boolean
  /**
   * Given where a JSON body is scanned to its end before the request is decided, whatever the rules: the members that name
   * and describe the request, as paths (see `scanJson`). The body view `json` then holds nothing else. Null for other requests.
   */
  scannedMembers?(request: CanonicalRequest, config: ConnectorConfig): readonly string[] | null
  /** Members that a scan looks for at any depth, beside `scannedMembers`; such a body that is no JSON is refused. */
  readonly find?: FindRules
  /**
   * Given for uploads of files that may hold the requests of a batch. Reads what the provider would do for them; without
   * bytes for a file that is too long to be read. Null for other requests.
   */
  readUpload?(request: CanonicalRequest, config: ConnectorConfig): UploadReader | null
  /**
   * Given where the first bytes of the body, whatever its type, tell what the request does. They come as the body view
   * `head`.
   */
  readsHead?(request: CanonicalRequest, config: ConnectorConfig): HeadReader | null
  /** Ids of things at the provider that agents are given and name later. */
  readonly handles?: HandleReader
  /** Its WebSocket on which each message is a request of its own. */
  readonly messages?: MessageProtocol
  /** The API that it offers over a WebSocket whose messages the gateway does not read (`<name>.websocket.open`). */
  readonly unreadSocketApi?: string
  /** Adds the credential to a request from which the agent's own were already removed. */
  injectCredentials(edit: OutboundEdit, secret: string, auth: AuthScheme, request: CanonicalRequest): void
  /** Some clients of the API fail over HTTP/2: TLS chooses HTTP/1.1 for a client that offers both. */
  readonly prefersHttp1?: boolean
  /** Where agents' own credentials hide besides Authorization, Proxy-Authorization and Cookie. */
  readonly carriers: CredentialCarriers
  readonly defaultAuth: AuthScheme
  /** The error format of the provider; without it, refusals always have the format of the service. */
  readonly providerError?: ProviderError
  /** What of a JSON body its action's parameters do not tell: the card shows it. Absent: every top-level field is compared. */
  undescribed?(body: unknown, config: ConnectorConfig): unknown
  /** True where every row of the request's method and path declares opaque bodies. */
  hasOpaqueBody?(request: CanonicalRequest, config: ConnectorConfig): boolean
  /** True where every row of the request's method and path needs no credential. */
  needsNoCredential?(request: CanonicalRequest, config: ConnectorConfig): boolean
  /** A body that cannot be read has an action of its own: such a request is held, and its card quotes the beginning. */
  readonly quotesUnreadBody?: boolean
  /**
   * How the client of a held request gets server-sent events while it waits; null when it did not ask for events.
   */
  eventFormat?(held: HeldRequest): EventFormat | null
  /**
   * Members of a JSON body that a client makes anew for each try: short strings and numbers there are not part of what
   * an approval is bound to.
   */
  readonly unboundMembers?: readonly MemberPath[]
  /**
   * Formats in which a server behind it may take another method from the body of a POST. Forms that do so are refused;
   * JSON is read for it where another method has another verdict. A connector that reads its bodies anyway
   * (`carriers.bodyFields`) need not say so.
   */
  readonly overridable?: readonly OverridableFormat[]
  /** True where the API documents `items[]` and `items[0]` in queries as the list `items`. */
  readonly readsBrackets?: boolean
  /**
   * Makes what naming needs of the connector's tables. Called when a record of this type comes into force, so that the
   * first request does not wait for it; a process without such a record never pays for it.
   */
  prepare?(): void
  /** The provider's rules of equality: which facts it compares without case. None: all facts are compared as sent. */
  readonly names?: NameRules
  /** What the gateway asks the provider about an action before it is decided. */
  readonly lookUps?: LookUps
  /** What fixes the state that an approver sees. */
  readonly pins?: Pins
  /** Every action it knows by name, for access rules, policy tests and people; several rows may share a name. */
  readonly catalogue?: readonly CatalogueRow[]
  /** What the provider does besides for an action that is submitted by its name, as its parameters say. */
  impliedActions?(action: Action, config: ConnectorConfig): readonly Action[] | Refusal
  /** Turns a v1 action spec back into a request, for `/execute`; undefined when it has no REST form. */
  toRequest?(spec: ExecuteSpec, config: ConnectorConfig): ExecuteRequest | Refusal
}

/** Reads the head of a body in three steps: decide by the line, wait for enough bytes, read them in slices. */
export type HeadReader = {
  readonly maxBytes: number
  /** The request by its line alone, announcing everything that its body can make of it. */
  announced(): Named
  /**
   * Starts a scan of a body that is still arriving. It gets all bytes so far and returns how many there have to be
   * before it is called again; no more than there are means that they are enough. It remembers where it stood.
   */
  scan(): (bytes: Uint8Array) => number
  /** The commits in the head, within `PACK_BUDGET`; null where the class does not depend on them. */
  read(bytes: Uint8Array, tools: PackTools): Sliced<Commits | null>
}

export type UploadReader = (
  bytes: Uint8Array | null,
  contentType: string,
) => Sliced<readonly ProviderAct[] | Refusal>

/** What `/execute` knows of an action. */
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
  /** Lower-case header names. */
  readonly headers: readonly string[]
  /** Query parameter names. */
  readonly query: readonly string[]
  /** Those with which the API documents that its credential is sent. A write may lose no other. */
  readonly documentedQuery?: readonly string[]
  /** Names of form or top-level JSON body fields; a non-empty list makes the gateway read forms and JSON. */
  readonly bodyFields: readonly string[]
  /** Path prefixes below which the body is a file: it streams by, whatever its type. */
  readonly contentPaths?: readonly string[]
}
