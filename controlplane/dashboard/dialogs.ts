import { UserMenu } from './frame/account/user-menu.tsx'
import { DeactivateDialog } from './frame/kill-switch/deactivate-dialog.tsx'
import { KillSwitchDialog } from './frame/kill-switch/kill-switch-dialog.tsx'
import { AlwaysAllowDialog } from './pages/approvals/always-allow/always-allow-dialog.tsx'
import { ShortcutDialog } from './pages/approvals/shortcut-dialog.tsx'

/** What opens over a page, with everything that places it: one chunk, fetched when the first view is done. */
export const DIALOGS = {
  AlwaysAllowDialog,
  DeactivateDialog,
  ShortcutDialog,
  KillSwitchDialog,
  UserMenu,
} as const
