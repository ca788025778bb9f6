import { ApiError, api } from './api.ts'
import { h } from './dom.ts'
import { killBanner, killButton } from './kill-switch.ts'
import { type Me, mayAct, type Role } from './roles.ts'
import { approvalsView } from './view-approvals.ts'
import { overviewView } from './view-overview.ts'
import { signInView } from './view-sign-in.ts'
import { trafficView } from './view-traffic.ts'

/** A page: fills `root`, returns what stops its timers. */
export type View = (root: HTMLElement) => () => void

type Page = { readonly title: string; readonly view: View; readonly least: Role }

/** The first one that a role may see is where it starts. */
const PAGES: Readonly<Record<string, Page>> = {
  approvals: { title: 'Approvals', view: approvalsView, least: 'member' },
  traffic: { title: 'Traffic', view: trafficView, least: 'viewer' },
  overview: { title: 'Overview', view: overviewView, least: 'admin' },
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
    if (error instanceof ApiError && error.status === 401) stop = signInView(app, start)
    else stop = unreachable(error)
  }
}

/** Nothing works without the server; the page says so and comes back with it. */
function unreachable(error: unknown): () => void {
  const why = error instanceof Error ? error.message : String(error)
  app.replaceChildren(h('p', { class: 'card narrow problem', role: 'alert' }, why))
  const timer = setTimeout(() => void start(), 2_000)
  return () => clearTimeout(timer)
}

function pagesOf({ user }: Me): ReadonlyArray<readonly [string, Page]> {
  return Object.entries(PAGES).filter(([, { least }]) => mayAct(user.role, least))
}

function signedIn(me: Me): void {
  const name = location.hash.slice(1).split('?')[0] ?? ''
  const pages = pagesOf(me)
  const [current = '', shown] = pages.find(([key]) => key === name) ?? pages[0] ?? []
  const page = h('main')
  const banner = h('div')
  const nav = h('nav', { 'aria-label': 'Pages' })
  for (const [key, { title }] of pages) {
    nav.append(h('a', { href: `#${key}`, ...(key === current ? { 'aria-current': 'page' } : {}) }, title))
  }
  const signOut = h(
    'button',
    { onclick: () => void api('POST', '/api/auth/logout', {}).then(start) },
    'Sign out',
  )
  const who = h('span', { class: 'muted who' }, `${me.user.email} (${me.user.role})`)
  app.replaceChildren(
    banner,
    h(
      'header',
      { class: 'bar' },
      h('span', { class: 'brand' }, 'Chaperone'),
      nav,
      mayAct(me.user.role, 'member') ? killButton() : null,
      who,
      signOut,
    ),
    page,
  )
  const stopBanner = killBanner(banner, me)
  document.title = `${shown?.title ?? 'Welcome'} - Chaperone`
  const stopView = shown?.view(page) ?? (() => undefined)
  stop = () => {
    stopBanner()
    stopView()
  }
}

addEventListener('hashchange', () => void start())
void start()
