import { createContext, type ReactNode, use, useCallback, useEffect, useMemo, useState } from 'react'
import type { Right } from '../../../core/wire/access/rights.ts'
import type { MeReply } from '../../../core/wire/access/sessions.ts'
import { type ApiError, asApiError, ApiError as Failure } from '../api/api-error.ts'
import { call, type SignInReason, whenSignedOut } from '../api/client.ts'
import { hasPageSecret } from '../api/page-secret.ts'

export type Session = {
  readonly user: MeReply['user']
  /** True if edits of Gateways, Connectors, Permissions and Policies return the manifest to commit. */
  readonly isYaml: boolean
  /** Command line of this installation, such as `./scripts/chaperone.sh` in a checkout. */
  readonly command: string
  /** Version of the control plane. */
  readonly version: string
  /** Reports whether the user has a right. Pages hide controls by this result; the server enforces rights. */
  readonly may: (right: Right) => boolean
  readonly signOut: () => Promise<void>
}
export type SessionState =
  | { readonly kind: 'loading' }
  | { readonly kind: 'signed_out'; readonly reason: SignInReason }
  | { readonly kind: 'unreachable'; readonly error: ApiError }
  | ({ readonly kind: 'signed_in' } & MeReply)

const SessionContext = createContext<Session | null>(null)
const RETRY_MS = 2_000
const SIGNED_OUT: SessionState = { kind: 'signed_out', reason: 'signed_out' }
const NO_SECRET: SessionState = { kind: 'signed_out', reason: 'page_secret' }

/**
 * Returns the session and a function that reads the session again. `first` is the request that starts before the first
 * render.
 */
export function useSessionState(first: Promise<MeReply>): readonly [SessionState, () => void] {
  const [state, setState] = useState<SessionState>({ kind: 'loading' })
  const apply = useCallback((read: Promise<MeReply>) => {
    read.then(
      (reply) =>
        setState(reply.user.restriction === 'page_secret' ? NO_SECRET : { kind: 'signed_in', ...reply }),
      (failure: unknown) => {
        const error = asApiError(failure)
        setState(error.status === 401 ? SIGNED_OUT : { kind: 'unreachable', error })
      },
    )
  }, [])
  const reload = useCallback(() => apply(fetchCurrentUser()), [apply])
  useEffect(() => {
    apply(first)
    return whenSignedOut((reason) => setState(reason === 'page_secret' ? NO_SECRET : SIGNED_OUT))
  }, [apply, first])
  useEffect(() => {
    if (state.kind !== 'unreachable') return
    const timer = setTimeout(reload, RETRY_MS)
    return () => clearTimeout(timer)
  }, [state, reload])
  return [state, reload]
}

function fetchCurrentUser(): Promise<MeReply> {
  return call('GET /api/auth/me', {})
}

/**
 * Reads the session when the page is loaded. Requests the session at once if a page secret is stored. Otherwise,
 * requests the session only if the browser has credentials, because browsers write each 401 to their console.
 */
export async function fetchFirstUser(): Promise<MeReply> {
  if (!hasPageSecret()) {
    const { has_credentials: hasCredentials } = await call('GET /api/auth/options', {})
    if (!hasCredentials) throw new Failure(401, 'Sign in to continue.')
  }
  return fetchCurrentUser()
}

export function SessionProvider(props: {
  readonly signedIn: MeReply
  readonly onSignedOut: () => void
  readonly children: ReactNode
}) {
  const { signedIn, onSignedOut, children } = props
  const { user, editing, command, version } = signedIn
  const session = useMemo<Session>(
    () => ({
      user,
      isYaml: editing === 'yaml',
      command,
      version,
      may: (right) => user.rights?.[right] !== undefined,
      signOut: async () => {
        await call('POST /api/auth/logout', { body: {} })
        onSignedOut()
      },
    }),
    [user, editing, command, version, onSignedOut],
  )
  return <SessionContext value={session}>{children}</SessionContext>
}

export function useSession(): Session {
  const session = use(SessionContext)
  if (session === null) throw new Error('useSession requires a SessionProvider')
  return session
}
