/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_LIFE_ALERT_ACTIONS_H
#define PROBE_LIFE_ALERT_ACTIONS_H

/* Registers the actions of this process' alerts (training/alerts/alerts.h). */
void alert_actions_set(void);

#endif
