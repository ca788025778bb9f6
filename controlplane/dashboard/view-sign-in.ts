import { api } from './api.ts'
import { h } from './dom.ts'

/** Registration from the printed link (`/setup?token=…`) or an invitation (`/setup?invite=…`), else sign-in. */
export function signInView(root: HTMLElement, done: () => Promise<void>): () => void {
  const link = new URLSearchParams(location.search)
  const isNew = location.pathname === '/setup'
  const words = wordsFor(isNew, link)
  document.title = `${words.title} - Chaperone`
  const problem = h('p', { class: 'problem', role: 'alert' })
  const email = h('input', { type: 'email', name: 'email', required: true, autocomplete: 'username' })
  const name = h('input', { name: 'name', required: true, autocomplete: 'name' })
  const password = h('input', {
    type: 'password',
    name: 'password',
    required: true,
    minlength: isNew ? '12' : '1',
    autocomplete: isNew ? 'new-password' : 'current-password',
  })
  const value = (input: HTMLElement) => (input as HTMLInputElement).value
  const submit = async () => {
    const login = { email: value(email), password: value(password) }
    if (isNew) await api('POST', '/api/auth/register', { ...login, name: value(name), ...tokensOf(link) })
    await api('POST', '/api/auth/login', login)
    history.replaceState(null, '', '/')
    await done()
  }
  const form = h(
    'form',
    {
      class: 'card',
      onsubmit: (event) => {
        event.preventDefault()
        problem.textContent = ''
        submit().catch((error: Error) => {
          problem.textContent = error.message
        })
      },
    },
    h('h1', {}, words.title),
    words.hint === '' ? null : h('p', { class: 'muted' }, words.hint),
    h('label', {}, 'E-mail', email),
    isNew ? h('label', {}, 'Name', name) : null,
    h('label', {}, isNew ? 'Password (12 characters or more)' : 'Password', password),
    problem,
    h(
      'div',
      { class: 'row spread' },
      h('button', { class: 'primary', type: 'submit' }, isNew ? 'Register' : 'Sign in'),
      isNew ? h('a', { href: '/' }, 'Sign in instead') : h('a', { href: '/setup' }, 'First time here?'),
    ),
  )
  root.replaceChildren(h('div', { class: 'narrow' }, form))
  ;(email as HTMLInputElement).focus()
  return () => undefined
}

function tokensOf(link: URLSearchParams): Readonly<Record<string, string>> {
  const [setup, invite] = [link.get('token'), link.get('invite')]
  return {
    ...(setup === null ? {} : { setup_token: setup }),
    ...(invite === null ? {} : { invite_token: invite }),
  }
}

function wordsFor(isNew: boolean, link: URLSearchParams): { readonly title: string; readonly hint: string } {
  if (!isNew) return { title: 'Sign in', hint: '' }
  if (link.has('invite')) return { title: 'You are invited', hint: 'Choose a password for your account.' }
  if (link.has('token'))
    return { title: 'Become the owner', hint: 'The first person to register owns this installation.' }
  return {
    title: 'Register',
    hint: 'The first person becomes the owner. Later ones may look, or need an invitation.',
  }
}
