import { ApiError, api } from './api.ts'
import { h } from './dom.ts'
import { killBanner, killButton } from './kill-switch.ts'
import { approvalsView } from './view-approvals.ts'
import { overviewView } from './view-overview.ts'
import { signInView } from './view-sign-in.ts'
import { trafficView } from './view-traffic.ts'

export type Me = { readonly user: { readonly email: string; readonly role: string } }
/** A page: fills `root`, returns what stops its timers. */
export type View = (root: HTMLElement) => () => void

const VIEWS: Readonly<Record<string, { readonly title: string; readonly view: View }>> = {
  approvals: { title: 'Approvals', view: approvalsView },
  traffic: { title: 'Traffic', view: trafficView },
  overview: { title: 'Overview', view: overviewView },
}

const app = document.getElementById('app') ?? document.body
let stop: () => void = () => undefined

async function start(): Promise<void> {
  stop()
  app.replaceChildren()
  try {
    const me = await api<Me>('GET', '/api/auth/me')
    signedIn(me)
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error
    stop = signInView(app, start)
  }
}

function signedIn(me: Me): void {
  const name = location.hash.slice(1).split('?')[0] ?? ''
  const current = VIEWS[name] === undefined ? 'approvals' : name
  const page = h('main')
  const banner = h('div')
  const nav = h('nav', { 'aria-label': 'Pages' })
  for (const [key, { title }] of Object.entries(VIEWS)) {
    nav.append(h('a', { href: `#${key}`, ...(key === current ? { 'aria-current': 'page' } : {}) }, title))
  }
  const signOut = h(
    'button',
    { onclick: () => void api('POST', '/api/auth/logout', {}).then(start) },
    'Sign out',
  )
  const who = h('span', { class: 'muted' }, `${me.user.email} (${me.user.role})`)
  app.replaceChildren(
    banner,
    h(
      'header',
      { class: 'bar' },
      h('span', { class: 'brand' }, 'Chaperone'),
      nav,
      killButton(me),
      who,
      signOut,
    ),
    page,
  )
  const stopBanner = killBanner(banner, me)
  const stopView = VIEWS[current]?.view(page) ?? (() => undefined)
  stop = () => {
    stopBanner()
    stopView()
  }
}

addEventListener('hashchange', () => void start())
void start()
