import { ChaperoneError } from '../../../core/errors.ts'
import { ownerLinkOf } from '../../../core/wire/access/owner-link.ts'
import type { Namespaces } from '../../../core/wire/access/rights.ts'
import {
  type EditingMode,
  LoginBody,
  MeReply,
  OwnerLinkBody,
  OwnerLinkReply,
  PasswordBody,
  PasswordReply,
  RegisterBody,
  RegisterReply,
  SessionReply,
} from '../../../core/wire/access/sessions.ts'
import { Ok } from '../../../core/wire/schema/fields.ts'
import { deviceCookies, setDeviceCookie } from '../../http/auth/device-cookie.ts'
import { isForwarded } from '../../http/auth/loopback-only.ts'
import { isPage } from '../../http/auth/page-secret.ts'
import { type RightIn, rightsOf } from '../../http/auth/rights.ts'
import { setSessionCookie } from '../../http/auth/session-cookie.ts'
import { beginSession } from '../../http/auth/session-reply.ts'
import { userOf } from '../../http/auth/user-principal.ts'
import { type Route, type RouteResult, route } from '../../http/route.ts'
import { VERSION } from '../../version.ts'
import { actorOf } from '../audit/actor.ts'
import type { OwnerLinks } from '../users/owner-links/service.ts'
import type { PasswordChange } from '../users/password-change.ts'
import type { Registration } from '../users/registration.ts'
import { DEVICE_MAX_AGE_S, type SignInDevices } from './devices.ts'
import type { Sessions } from './service.ts'

export type AuthRoutesDeps = {
  readonly registration: Registration
  readonly ownerLinks: Pick<OwnerLinks, 'make'>
  readonly sessions: Sessions
  readonly passwordChange: PasswordChange
  readonly devices: SignInDevices
  readonly isPasswordOn: boolean
  readonly editing: EditingMode
  /** Command that starts the CLI of this installation, as shown in texts of the dashboard. */
  readonly command: string
  /** Whether browsers connect over TLS. If so, cookies get the attribute `Secure`. */
  readonly isSecure: boolean
  readonly baseUrl: () => string
}

export function createAuthRoutes(deps: AuthRoutesDeps): readonly Route[] {
  return [register(deps), ownerLink(deps), login(deps), logout(deps), password(deps), me(deps)]
}

function refusePasswords({ isPasswordOn }: AuthRoutesDeps): void {
  if (isPasswordOn) return
  throw new ChaperoneError('forbidden', {
    detail: 'Sign-in by password is disabled. Sign in through the identity provider.',
    extra: { required: 'identity_provider' },
  })
}

function register(deps: AuthRoutesDeps): Route {
  return route({
    method: 'POST',
    path: '/api/auth/register',
    auth: 'none',
    summary:
      'Creates a user: the first becomes the owner, later ones need an invitation or open registration',
    body: RegisterBody,
    statuses: [429],
    response: RegisterReply,
    handler: async ({ body, raw }) => {
      refusePasswords(deps)
      const { ip: address } = raw.request
      const input = { ...body, isForwarded: isForwarded(raw.request), address }
      const { id, email, role } = await deps.registration.register(input)
      return withDevice({ status: 200, body: { ok: true as const, user: { id, email, role } } }, email, deps)
    },
  })
}

function ownerLink({ ownerLinks, baseUrl }: AuthRoutesDeps): Route {
  return route({
    method: 'POST',
    path: '/api/auth/owner-link',
    auth: 'ownerlinks/create',
    admits: ['machine_token'],
    summary:
      'Creates a link with which the first owner registers; the link is valid once, for an hour. Returns null once there is an owner. With `required`, the first owner can register only through such a link from then on; the command line sends this before an agent starts on this machine',
    body: OwnerLinkBody,
    statuses: [409],
    response: OwnerLinkReply,
    handler: async ({ principal, body }) => {
      const token = await ownerLinks.make(actorOf(principal), { isRequired: body.required })
      return { ok: true as const, owner_link: token === null ? null : ownerLinkOf(baseUrl(), token) }
    },
  })
}

/**
 * Sets the device cookie. Later sign-in attempts with the cookie are counted separately from those of other clients.
 */
function withDevice<Body>(
  { headers = {}, ...result }: RouteResult<Body>,
  email: string,
  { devices, isSecure }: AuthRoutesDeps,
): RouteResult<Body> {
  const cookie = setDeviceCookie(email, { value: devices.issue(email), maxAgeS: DEVICE_MAX_AGE_S }, isSecure)
  const cookies = [headers['set-cookie'] ?? [], cookie].flat()
  return { ...result, headers: { ...headers, 'set-cookie': cookies } }
}

function login(deps: AuthRoutesDeps): Route {
  const { sessions, isSecure } = deps
  return route({
    method: 'POST',
    path: '/api/auth/login',
    auth: 'none',
    summary:
      'Signs in: sets the cookie svc_session. A browser also gets `page_secret`, without which its session only reads',
    body: LoginBody,
    statuses: [401, 403, 429],
    response: SessionReply,
    handler: async ({ body, raw }) => {
      refusePasswords(deps)
      const { ip: address } = raw.request
      const from = { address, devices: deviceCookies(raw.request, body.email), isPage: isPage(raw.request) }
      const session = await sessions.login({ ...body, ...from })
      const { id, email, role } = session.user
      return withDevice(beginSession(session, isSecure, { user: { id, email, role } }), email, deps)
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
    handler: async ({ principal }) => {
      const user = userOf(principal)
      await sessions.logout(user.session?.id, user)
      return {
        status: 200,
        body: { ok: true as const },
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
    summary: 'Changes the password of the signed-in user, ends all sessions of the user and begins a new one',
    body: PasswordBody,
    statuses: [429],
    response: PasswordReply,
    handler: async ({ principal, body, raw }) => {
      const user = userOf(principal)
      const session = await passwordChange.change(user, {
        current: body.current_password,
        next: body.new_password,
        isPage: user.session?.isPage === true || isPage(raw.request),
      })
      return beginSession(session, isSecure, {})
    },
  })
}

function namesOf(namespaces: Namespaces): string[] | null {
  return namespaces === 'all' ? null : [...namespaces].sort()
}

function namesByRight(rights: readonly RightIn[]): Record<string, string[] | null> {
  return Object.fromEntries(rights.map(({ right, namespaces }) => [right, namesOf(namespaces)]))
}

function me({ editing, command }: AuthRoutesDeps): Route {
  return route({
    method: 'GET',
    path: '/api/auth/me',
    auth: 'session',
    summary: 'Returns the signed-in user',
    response: MeReply,
    handler: async ({ principal }) => {
      const user = userOf(principal)
      const { userId, email, role, groups, via, restriction = null, namespaces } = user
      const own =
        via === 'cluster'
          ? {}
          : { namespaces: namesOf(namespaces), rights: namesByRight(await rightsOf(user)) }
      return {
        user: { id: userId, email, role, groups, via, restriction, ...own },
        editing,
        command,
        version: VERSION,
      }
    },
  })
}
