import { createContext, type ReactNode, use, useCallback, useEffect, useMemo, useState } from 'react'
import type { Right } from '../../../core/wire/rights.ts'
import { type ApiError, asApiError } from '../api/api-error.ts'
import { call, type SignInReason, whenSignedOut } from '../api/client.ts'
import type { Editing, Me } from '../api/shapes.ts'

export type Session = {
  readonly user: Me['user']
  /** True: edits of Gateways, Connectors, Permissions and Policies are answered with the manifest to commit. */
  readonly isYaml: boolean
  /** Whether routes let the user in. A page only spares people what would be refused: the server decides. */
  readonly may: (right: Right) => boolean
  readonly signOut: () => Promise<void>
}
export type SessionState =
  | { readonly kind: 'asking' }
  | { readonly kind: 'nobody'; readonly why: SignInReason }
  | { readonly kind: 'unreachable'; readonly error: ApiError }
  | { readonly kind: 'user'; readonly user: Me['user']; readonly editing: Editing }

const SessionContext = createContext<Session | null>(null)
const RETRY_MS = 2_000
const SIGNED_OUT: SessionState = { kind: 'nobody', why: 'signed_out' }
const NO_SECRET: SessionState = { kind: 'nobody', why: 'page_secret' }

/** Who is signed in: `first` was asked before anything is drawn, then again after every 401. */
export function useSessionState(first: Promise<Me>): readonly [SessionState, () => void] {
  const [state, setState] = useState<SessionState>({ kind: 'asking' })
  const hear = useCallback((answer: Promise<Me>) => {
    answer.then(
      ({ user, editing }) =>
        setState(user.restriction === 'page_secret' ? NO_SECRET : { kind: 'user', user, editing }),
      (failure: unknown) => {
        const error = asApiError(failure)
        setState(error.status === 401 ? SIGNED_OUT : { kind: 'unreachable', error })
      },
    )
  }, [])
  const ask = useCallback(() => hear(fetchCurrentUser()), [hear])
  useEffect(() => {
    hear(first)
    return whenSignedOut((why) => setState(why === 'page_secret' ? NO_SECRET : SIGNED_OUT))
  }, [hear, first])
  useEffect(() => {
    if (state.kind !== 'unreachable') return
    const timer = setTimeout(ask, RETRY_MS)
    return () => clearTimeout(timer)
  }, [state, ask])
  return [state, ask]
}

export function fetchCurrentUser(): Promise<Me> {
  return call('GET /api/auth/me', {})
}

export function SessionProvider(props: {
  readonly user: Me['user']
  readonly editing: Editing
  readonly onSignedOut: () => void
  readonly children: ReactNode
}) {
  const { user, editing, onSignedOut, children } = props
  const session = useMemo<Session>(
    () => ({
      user,
      isYaml: editing === 'yaml',
      may: (right) => user.rights?.[right] !== undefined,
      signOut: async () => {
        await call('POST /api/auth/logout', { body: {} })
        onSignedOut()
      },
    }),
    [user, editing, onSignedOut],
  )
  return <SessionContext value={session}>{children}</SessionContext>
}

export function useSession(): Session {
  const session = use(SessionContext)
  if (session === null) throw new Error('useSession needs a SessionProvider above it')
  return session
}
