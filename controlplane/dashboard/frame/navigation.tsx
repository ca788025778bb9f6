import { Badge, NavLink } from '@mantine/core'
import { Icon } from '../components/layout/icon.tsx'
import { useResource } from '../live/use-resource.ts'
import type { PageEntry } from '../pages/page-list.tsx'
import { preloadPage } from '../pages/preload-page.ts'
import { hrefOf } from '../routing/page-location.ts'

export function Navigation({
  pages,
  current,
}: {
  readonly pages: readonly PageEntry[]
  readonly current: string
}) {
  const { data } = useResource('GET /api/dashboard/overview', {}, { on: ['approvals'] })
  const pending = data?.pending_approvals ?? 0
  return pages.map(({ path, title, icon }) => (
    <NavLink
      key={path}
      href={hrefOf(path)}
      onPointerEnter={() => preloadPage(hrefOf(path))}
      onFocus={() => preloadPage(hrefOf(path))}
      label={title}
      active={path === current}
      aria-current={path === current ? 'page' : undefined}
      leftSection={<Icon name={icon} />}
      rightSection={
        path === 'approvals' && pending > 0 ? (
          <Badge size="sm" circle={pending < 10} className="tone tone-wait" aria-label={`${pending} pending`}>
            {pending}
          </Badge>
        ) : null
      }
      className="nav-link"
    />
  ))
}
