import { Anchor, AppShell } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useEffect } from 'react'
import { PAGES, type PageEntry } from '../pages/page-list.tsx'
import { usePageLocation } from '../routing/use-page-location.ts'
import { useSession } from '../session/session.tsx'
import { CurrentPage } from './current-page.tsx'
import { ForbiddenPage } from './forbidden-page.tsx'
import { HeaderBar } from './header-bar.tsx'
import { KillSwitchBanner } from './kill-switch/kill-switch-banner.tsx'
import { MissingPage } from './missing-page.tsx'
import { Navigation } from './navigation.tsx'
import { NavigationFoot } from './navigation-foot.tsx'

/** Renders the layout of every page: navigation, account menu, and kill switch. */
export function Frame() {
  const { may } = useSession()
  const { page } = usePageLocation()
  const [isOpen, { toggle, close }] = useDisclosure(false)
  const pages = PAGES.filter(({ right }) => may(right))
  const current = page === '' ? pages[0] : PAGES.find(({ path }) => path === page)
  useEffect(() => {
    if (page !== '') close()
  }, [page, close])
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 232, breakpoint: 'sm', collapsed: { mobile: !isOpen } }}
      padding={{ base: 'sm', sm: 'lg' }}
    >
      <Anchor href="#page-title" className="skip-link" onClick={skipToPage}>
        Skip to the page
      </Anchor>
      <AppShell.Header>
        <HeaderBar pages={pages} isNavOpen={isOpen} onToggleNav={toggle} />
      </AppShell.Header>
      <AppShell.Navbar p="xs" aria-label="Pages">
        <Navigation pages={pages} current={current?.path ?? ''} />
        <NavigationFoot />
      </AppShell.Navbar>
      <AppShell.Main className="main">
        <KillSwitchBanner />
        {current !== undefined ? <Allowed entry={current} /> : page === '' ? null : <MissingPage />}
      </AppShell.Main>
    </AppShell>
  )
}

/** Renders the page. For a user without the right that the page requires, renders a notice instead. */
function Allowed({ entry }: { readonly entry: PageEntry }) {
  const { may } = useSession()
  if (!may(entry.right)) return <ForbiddenPage title={entry.title} right={entry.right} />
  return <CurrentPage key={entry.path} entry={entry} />
}

/**
 * Moves the focus to the page title without following the link. The fragment of the URL holds the current page, so the
 * link must not change the fragment.
 */
function skipToPage(event: { preventDefault(): void }): void {
  event.preventDefault()
  document.getElementById('page-title')?.focus()
}
