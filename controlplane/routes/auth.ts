import * as z from 'zod'
import { ChaperoneError } from '../../core/errors.ts'
import type { UserPrincipal } from '../http/auth.ts'
import { type Principal, type Route, route } from '../http/route.ts'
import { sessionCookie, setSessionCookie } from '../http/session-cookie.ts'
import type { PasswordChange } from '../services/password-change.ts'
import type { Registration } from '../services/registration.ts'
import type { Sessions } from '../services/sessions.ts'
import { Email, Ok, RoleSchema } from './fields.ts'

export type AuthRoutesDeps = {
  readonly registration: Registration
  readonly sessions: Sessions
  readonly passwordChange: PasswordChange
  /** Whether browsers reach us over TLS: the cookie is then `Secure`. */
  readonly isSecure: boolean
}

const UserView = z.object({ id: z.string(), email: z.string(), role: RoleSchema })
const Password = z.string().min(12, 'has at least 12 characters').max(1_024)
const RegisterBody = z.strictObject({
  email: Email,
  password: Password,
  name: z.string().min(1).max(200),
  setup_token: z.string().max(200).optional(),
  invite_token: z.string().max(200).optional(),
})
const LoginBody = z.strictObject({
  email: z.string().min(1).max(320),
  password: z.string().min(1).max(1_024),
})
const PasswordBody = z.strictObject({
  current_password: z.string().min(1).max(1_024),
  new_password: Password,
})

export function createAuthRoutes(deps: AuthRoutesDeps): readonly Route[] {
  return [register(deps), login(deps), logout(deps), password(deps), me()]
}

/** The user behind a `session` or role route; those always have one. */
export function userOf(principal: Principal): UserPrincipal {
  if (principal.kind === 'user') return principal
  throw new ChaperoneError('unauthorized', { detail: 'This needs a session' })
}

function register({ registration }: AuthRoutesDeps): Route {
  return route({
    method: 'POST',
    path: '/api/auth/register',
    auth: 'none',
    summary:
      'Creates a user: the first becomes the owner, later ones need an invitation or open registration',
    body: RegisterBody,
    statuses: [429],
    response: Ok.extend({ user: UserView }),
    handler: async ({ body }) => {
      const { id, email, role } = await registration.register(body)
      return { ok: true, user: { id, email, role } }
    },
  })
}

function login({ sessions, isSecure }: AuthRoutesDeps): Route {
  return route({
    method: 'POST',
    path: '/api/auth/login',
    auth: 'none',
    summary: 'Signs in: sets the cookie svc_session',
    body: LoginBody,
    statuses: [401, 429],
    response: Ok.extend({ user: UserView }),
    handler: async ({ body, raw }) => {
      const { sessionId, maxAgeS, user } = await sessions.login({ ...body, address: raw.request.ip })
      const cookie = setSessionCookie(sessionId, maxAgeS, isSecure)
      const { id, email, role } = user
      return { status: 200, body: { ok: true, user: { id, email, role } }, headers: { 'set-cookie': cookie } }
    },
  })
}

function logout({ sessions, isSecure }: AuthRoutesDeps): Route {
  return route({
    method: 'POST',
    path: '/api/auth/logout',
    auth: 'session',
    summary: 'Ends the session',
    response: Ok,
    handler: async ({ principal, raw }) => {
      await sessions.logout(sessionCookie(raw.request), userOf(principal))
      return {
        status: 200,
        body: { ok: true },
        headers: { 'set-cookie': setSessionCookie(null, 0, isSecure) },
      }
    },
  })
}

function password({ passwordChange, isSecure }: AuthRoutesDeps): Route {
  return route({
    method: 'POST',
    path: '/api/auth/password',
    auth: 'session',
    summary: 'Changes the password of whoever is signed in; ends every session and begins a new one',
    body: PasswordBody,
    statuses: [429],
    response: Ok,
    handler: async ({ principal, body, raw }) => {
      const { sessionId, maxAgeS } = await passwordChange.change(userOf(principal), {
        ...{ current: body.current_password, next: body.new_password, address: raw.request.ip },
      })
      const cookie = setSessionCookie(sessionId, maxAgeS, isSecure)
      return { status: 200, body: { ok: true }, headers: { 'set-cookie': cookie } }
    },
  })
}

function me(): Route {
  return route({
    method: 'GET',
    path: '/api/auth/me',
    auth: 'session',
    summary: 'Who is signed in',
    response: z.object({ user: UserView.extend({ groups: z.array(z.string()), via: z.string() }) }),
    handler: async ({ principal }) => {
      const { userId, email, role, groups, via } = userOf(principal)
      return { user: { id: userId, email, role, groups, via } }
    },
  })
}
