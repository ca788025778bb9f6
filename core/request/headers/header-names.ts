/** Properties of a header field that follow from its name. */
export type HeaderName = {
  readonly lower: string
  readonly isToken: boolean
  /** True if framing, host identity or body parsing depends on the field's value. */
  readonly isRead: boolean
  /** True if some servers use the field's value instead of the classified method or path. */
  readonly isOverride: boolean
  /** Name in `SHADOWED` that CGI-like servers read instead of this name; null if there is none. */
  readonly shadows: string | null
  readonly isForbiddenInH2: boolean
  /** True if some servers execute the request as the user in the field's value. */
  readonly isImpersonation: boolean
}

const READ = new Set([
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'content-type',
  'content-encoding',
  'upgrade',
  'te',
])

/** Matches names of fields that some servers use instead of the classified path. */
const PATH_OVERRIDE =
  /^x-(?:(?:original|rewrite|forwarded|request|replaced|envoy-original)-(?:url|uri|path)|original-request-ur[il]|forwarded-prefix|script-name)$/

/** Matches names of fields that state on whose behalf a request is sent, in lower case and with `-` for `_`. */
const IMPERSONATION = new RegExp(
  [
    '^(?:sudo|impersonate-(?:user|group|uid|extra-.+)|x-impersonate(?:-user|-group)?|x-act-as(?:-user)?|x-on-behalf-of',
    'x-forwarded-(?:user|uid|email|groups?|preferred-username|client-cert|login|name|for-user)',
    '(?:x-)?remote-(?:user|uid|name|email|groups?|extra-.+)|x-webauth-.+|x-auth-request-(?:user|email|groups|preferred-username)',
    'x-authenticated-(?:user|userid|email|groups|scope)|x-consumer-(?:id|username|custom-id|groups)|x-credential-(?:username|identifier)',
    'x-goog-authenticated-user-(?:id|email)|x-amzn-oidc-(?:identity|data)|x-ms-client-principal(?:-id|-name|-idp)?',
    'cf-access-authenticated-user-email|tailscale-user-.+|mscrmcallerid|callerobjectid|(?:x-)?ssl-client-.+|x-client-cert)$',
  ].join('|'),
)

/**
 * Matches names, in lower case and with `-` for `_`, that make some servers use another method: `X-HTTP-Verb`,
 * `_method`.
 */
const METHOD_OVERRIDE =
  /^(?:-method|(?:http-)?x-(?:http-|request-|original-|forwarded-|envoy-)*(?:method|verb)(?:-override)?|http-(?:method|verb)(?:-override)?|(?:method|verb)-override|x-http-override)$/

/** Reports whether a header, query parameter or form field with this name, in any spelling, overrides the method. */
export function overridesMethod(name: string): boolean {
  return METHOD_OVERRIDE.test(name.toLowerCase().replaceAll('_', '-'))
}

/** Header fields that select the affected account or operation. Approval cards always show them. */
export const ACCOUNT_HEADERS: ReadonlySet<string> = new Set([
  ...['stripe-account', 'stripe-context', 'x-goog-user-project', 'openai-project', 'openai-organization'],
  ...['x-amz-target', 'soapaction'],
])

/**
 * Header names that no other spelling may imitate. CGI-like servers do not distinguish `_` and `-`, so such servers
 * read `x_api_key` as `x-api-key`.
 */
const SHADOWED = new Set([
  ...READ,
  'authorization',
  'proxy-authorization',
  'cookie',
  'x-api-key',
  'api-key',
  'x-auth-token',
  'private-token',
  'expect',
  'trailer',
  'keep-alive',
  'proxy-connection',
  'x-forwarded-host',
  ...ACCOUNT_HEADERS,
])

const H2_FORBIDDEN = new Set(['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade'])

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** Cache of header properties by name. The cache has a bound, because clients may invent names. */
const known = new Map<string, HeaderName>()
const MAX_KNOWN = 1_024
const MAX_LENGTH = 64

export function headerName(name: string): HeaderName {
  const found = known.get(name)
  if (found !== undefined) return found
  const facts = judge(name)
  if (name.length > MAX_LENGTH) return facts
  if (known.size >= MAX_KNOWN) known.clear()
  known.set(name, facts)
  return facts
}

function judge(name: string): HeaderName {
  const lower = name.toLowerCase()
  const hyphenated = lower.replaceAll('_', '-')
  return {
    lower,
    isToken: TOKEN.test(name),
    isRead: READ.has(lower),
    isOverride: PATH_OVERRIDE.test(hyphenated) || overridesMethod(lower),
    shadows: hyphenated !== lower && SHADOWED.has(hyphenated) ? hyphenated : null,
    isForbiddenInH2: H2_FORBIDDEN.has(lower),
    isImpersonation: IMPERSONATION.test(hyphenated),
  }
}
