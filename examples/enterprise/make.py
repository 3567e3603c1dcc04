# /// script
# requires-python = ">=3.11"
# dependencies = ["fpdf2", "openpyxl", "python-docx"]
# ///
"""Makes the tables, the graph and the binary documents of the example; all of it is invented.

``pipx run make.py`` in this folder. The same files come out every time, but for dates inside PDF, DOCX and XLSX.
"""

from __future__ import annotations

import csv
import random
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta
from pathlib import Path

from docx import Document
from fpdf import FPDF
from openpyxl import Workbook

HERE = Path(__file__).parent
ROWS = 520

SAFETY = [
    ("Safety manual", ""),
    ("Life jackets", "There are ten percent more life jackets than passengers on every vessel. Children's jackets are kept in the red boxes on deck two."),
    ("Fire", "The crew closes the fire doors within 90 seconds. Halon is used in the engine room only after everybody has answered the roll call."),
    ("Man overboard", "The look-out throws the ring, points, and does not take the eyes off the person. The drill takes place on the first Monday of each month."),
    ("Speed", "Within the harbour of Vessby the limit is six knots."),
]  # fmt: skip
EXPENSES = [
    ("报销规定", ""),
    ("期限", "差旅费用须在返回后三十天内报销，逾期不予受理。"),
    ("标准", "住宿每晚不超过 520 元，伙食补助每天 110 元，市内交通每天 60 元。"),
    ("流程", "报销单经部门经理签字后交财务部孙佳宁复核，五个工作日内付款。"),
]
CONTRACT = [
    ["Supply contract between Larkspur Ferries and Norsund Diesel", "Norsund Diesel delivers marine diesel to the quay of Vessby. The contract runs from 1 January 2026 to 31 December 2028.", "The price is 11.40 crowns per litre and is reviewed on 1 July of each year."],
    ["Delivery", "Deliveries arrive before 5:00. For each hour of delay Norsund Diesel pays a penalty of 3,000 crowns.", "Termination", "Either side may terminate with a notice of six months to the end of a year. Disputes go to the court of Vessby."],
]  # fmt: skip
REPORT = [
    ["Annual report 2025", "Larkspur Ferries carried 1,284,000 passengers in 2025, four percent more than in the year before."],
    ["Result", "Revenue came to 612 million crowns. The profit after tax was 23.5 million crowns.", "Outlook", "The board expects revenue of 640 million crowns in 2026."],
    ["People", "At the end of the year 418 people worked for the company, 96 of them at sea for more than twenty years."],
]  # fmt: skip

PEOPLE = [
    ("MaritDahl", "Marit Dahl", "managing director", "Vessby"),
    ("JonasLindqvist", "Jonas Lindqvist", "technical inspector", "Skarv"),
    ("ToveBerg", "Tove Berg", "head of operations", "Vessby"),
    ("LinXiaomei", "林晓梅", "财务总监", "Vessby"),
    ("ZhaoMin", "赵敏", "票务系统负责人", "Lomvi"),
    ("ZhouJianguo", "周建国", "检修主管", "Skarv"),
    ("HeYutong", "何雨桐", "网络安全负责人", "Vessby"),
    ("AntonVik", "Anton Vik", "captain", "Ternholm"),
    ("SigridMoen", "Sigrid Moen", "captain", "Skarv"),
    ("IngridSolheim", "Ingrid Solheim", "founder", "Vessby"),
]
VESSELS = [
    ("Marlin", "AntonVik", "VessbySkarv", 2011),
    ("Kittiwake", "SigridMoen", "VessbyTernholm", 2023),
    ("Razorbill", "AntonVik", "SkarvLomvi", 2004),
    ("Tystie", "SigridMoen", "VessbySkarv", 1998),
]
REPORTS_TO = [
    ("JonasLindqvist", "ToveBerg"),
    ("ToveBerg", "MaritDahl"),
    ("LinXiaomei", "MaritDahl"),
    ("ZhaoMin", "ToveBerg"),
    ("ZhouJianguo", "JonasLindqvist"),
    ("HeYutong", "ToveBerg"),
    ("AntonVik", "ToveBerg"),
    ("SigridMoen", "ToveBerg"),
]
ROUTES = [
    ("VessbySkarv", "Vessby", "Skarv"),
    ("VessbyTernholm", "Vessby", "Ternholm"),
    ("SkarvLomvi", "Skarv", "Lomvi"),
]


def days(chance: random.Random, first: date, span: int) -> date:
    return first + timedelta(days=chance.randrange(span))


def employees(chance: random.Random) -> Iterator[Sequence[object]]:
    first = (
        "Aino Bjarne Carla Didrik Elin Frode Greta Henrik Iben Jorun Kaspar Liv Mads Nora Odd Pia Runa Stig Tiril Ulf"
    )
    last = (
        "Aasen Brandt Cold Dyrnes Eide Falk Grimsrud Holm Isaksen Juhl Krogh Lund Mohr Nygaard Opdal Prytz Ravn Strand"
    )
    last += " Tangen Urne Vang Wiik Ystad Zahl Ask Bruun"
    names = [f"{one} {two}" for one in first.split() for two in last.split()]
    for number, name in enumerate(names[:ROWS], 1):
        department = chance.choice(["Operations", "Maintenance", "Booking", "Finance", "IT"])
        town = chance.choice(["Vessby", "Skarv", "Ternholm", "Lomvi"])
        hired = days(chance, date(1998, 1, 1), 10_000)
        yield f"{number:05}", name, department, town, hired, chance.randrange(310, 720) * 100


def crossings(chance: random.Random) -> Iterator[Sequence[object]]:
    for number in range(1, ROWS + 1):
        route = chance.choice(["Vessby–Skarv", "Vessby–Ternholm", "Skarv–Lomvi"])
        vessel = chance.choice(["Marlin", "Kittiwake", "Razorbill", "Tystie"])
        fares = f"{chance.randrange(20_000, 900_000) / 100:.2f}".replace(".", ",")
        yield number, days(chance, date(2026, 1, 1), 273), route, vessel, chance.randrange(12, 420), fares


def orders(chance: random.Random) -> Iterator[Sequence[object]]:
    customers = ["海星商贸", "远航旅行社", "云杉物流", "青禾餐饮", "长岛水产", "北岸建材"]
    for number in range(1, ROWS + 1):
        goods = chance.choice(["船票团购", "车辆运输", "货物托运", "包船"])
        state = chance.choice(["已付款", "已付款", "已付款", "待付款", "已取消"])
        amount = f"{chance.randrange(500_00, 60_000_00) / 100:.2f}"
        yield f"D{number:04}", chance.choice(customers), goods, days(chance, date(2026, 1, 5), 250), amount, state


def repairs(chance: random.Random) -> Iterator[Sequence[object]]:
    for number in range(1, ROWS + 1):
        part = chance.choice(["ramp", "engine", "radar", "hull", "battery", "anchor winch"])
        vessel = chance.choice(["Marlin", "Kittiwake", "Razorbill", "Tystie"])
        hours = None if number % 40 == 0 else chance.randrange(2, 160) / 2
        yield number, vessel, part, days(chance, date(2025, 1, 1), 600), hours, chance.randrange(8, 900) * 50


def stock(chance: random.Random) -> Iterator[Sequence[object]]:
    for number in range(1, ROWS + 1):
        place = chance.choice(["Vessby", "Skarv", "Lomvi"])
        name = f"{chance.choice(['bolt', 'hose', 'valve', 'seal', 'lamp', 'filter'])} {number:03}"
        yield f"{number * 37:08}", name, place, chance.randrange(0, 400), f"{chance.randrange(150, 90_000) / 100:.2f}"


def write_csv(
    path: Path, header: Sequence[str], rows: Iterable[Sequence[object]], encoding: str, delimiter: str
) -> None:
    with path.open("w", encoding=encoding, newline="") as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def write_tables(folder: Path) -> None:
    chance = random.Random(20260914)
    header = ["employee_id", "name", "department", "town", "hired_on", "salary"]
    write_csv(folder / "employees.csv", header, employees(chance), "utf-8", ",")
    header = ["crossing_id", "day", "route", "vessel", "passengers", "fares"]
    write_csv(folder / "crossings.csv", header, crossings(chance), "utf-8-sig", ";")
    write_csv(folder / "订单.csv", ["订单号", "客户", "品类", "下单日期", "金额", "状态"], orders(chance), "gbk", ",")
    header = ["part_number", "part", "store", "quantity", "unit_price"]
    write_csv(folder / "spare_parts.tsv", header, stock(chance), "utf-8", "\t")
    book = Workbook()
    sheet = book.active
    sheet.title = "repairs"
    sheet.append(["repair_id", "vessel", "part", "done_on", "hours", "cost"])
    for row in repairs(chance):
        sheet.append(row)
    book.save(folder / "repairs.xlsx")


def triples() -> Iterator[str]:
    for key, name, role, town in PEOPLE:
        language = "zh" if name[0] > "z" else "en"
        yield f'lf:{key} a lf:Person ; rdfs:label "{name}"@{language} ; lf:role "{role}" ; lf:lives_in lf:{town} .'
    for key, captain, route, year in VESSELS:
        yield f'lf:{key} a lf:Vessel ; rdfs:label "{key}" ; lf:captain lf:{captain} ; lf:serves lf:{route} ; lf:built_in {year} .'
    for key, start, end in ROUTES:
        yield f'lf:{key} a lf:Route ; rdfs:label "{start} – {end}" ; lf:starts_in lf:{start} ; lf:ends_in lf:{end} .'
    for junior, senior in REPORTS_TO:
        yield f"lf:{junior} lf:reports_to lf:{senior} ."
    for town, island, quays in (
        ("Vessby", "Storøya", 4),
        ("Skarv", "Skarvøya", 3),
        ("Ternholm", "Ternøya", 2),
        ("Lomvi", "Lomvøya", 2),
    ):
        yield f'lf:{town} a lf:Town ; rdfs:label "{town}" ; lf:lies_on "{island}" ; lf:number_of_quays {quays} .'
    yield 'lf:LarkspurFerries a lf:Company ; rdfs:label "Larkspur Ferries" ; lf:founded_by lf:IngridSolheim ; lf:headquarters lf:Vessby ; lf:supplier lf:NorsundDiesel .'
    yield 'lf:NorsundDiesel a lf:Company ; rdfs:label "Norsund Diesel" ; lf:located_in lf:Lomvi .'


def write_graph(path: Path) -> None:
    head = "@prefix lf: <https://larkspur.example/> .\n@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n\n"
    path.write_text(head + "\n".join(triples()) + "\n", encoding="utf-8")


def write_docx(path: Path, parts: Sequence[tuple[str, str]]) -> None:
    document = Document()
    for level, (heading, text) in enumerate(parts):
        document.add_heading(heading, min(level, 1))
        if text:
            document.add_paragraph(text)
    document.save(str(path))


def write_pdf(path: Path, pages: Sequence[Sequence[str]]) -> None:
    pdf = FPDF()
    pdf.set_font("Helvetica", size=12)
    for page in pages:
        pdf.add_page()
        for paragraph in page:
            pdf.multi_cell(0, 8, paragraph, new_x="LMARGIN", new_y="NEXT")
    pdf.output(str(path))


def main() -> None:
    write_tables(HERE / "tables")
    write_graph(HERE / "graph" / "organisation.ttl")
    documents = HERE / "documents"
    write_docx(documents / "safety-manual.docx", SAFETY)
    write_docx(documents / "报销规定.docx", EXPENSES)
    write_pdf(documents / "norsund-contract.pdf", CONTRACT)
    write_pdf(documents / "annual-report-2025.pdf", REPORT)


if __name__ == "__main__":
    main()
