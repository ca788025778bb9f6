import { LiftDialog } from './frame/lift-dialog.tsx'
import { StopDialog } from './frame/stop-dialog.tsx'
import { UserMenu } from './frame/user-menu.tsx'
import { AlwaysAllowDialog } from './pages/approvals/always-allow-dialog.tsx'
import { ShortcutDialog } from './pages/approvals/shortcut-dialog.tsx'

/** What opens over a page, with everything that places it: one chunk, fetched when the first view is done. */
export const DIALOGS = { AlwaysAllowDialog, LiftDialog, ShortcutDialog, StopDialog, UserMenu } as const
