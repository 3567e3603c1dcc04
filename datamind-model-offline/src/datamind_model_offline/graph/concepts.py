"""Words for the same relation, in both languages."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from datamind_model_offline.tables import words

# English words, then Chinese ones, of one relation whatever its direction.
_GROUPS: Final = """
    founded founder cofounder co-founded established founding cofounded : 创始人 创办 创立 创始 成立 创建 建立
    works work employed employer employee employs employment job staff : 工作 任职 就职 就业 雇主 雇员 员工 雇佣 供职 单位
    leads lead leader heads head led leadership chief : 领导 负责 负责人 带领 带队 牵头 主持 领头
    manages manager managed supervises supervisor boss supervised management oversees : 管理 经理 主管 上司 负责人 管辖
    ceo chief executive : 首席执行官 总裁 CEO
    reports report supervisor boss : 汇报 上级 直属上级 领导 上司
    located location based headquarters headquartered lies situated seat site place : 位于 所在 所在城市 所在国家 所在地区 坐落 总部 地点 位置 所在地 在
    city town : 城市 市
    country nation : 国家 国
    region area district : 地区 区域
    capital : 首都 省会
    born birthplace birth : 出生 出生地 生于 哪里人 籍贯 老家 故乡 家乡
    died death : 去世 逝世 死于
    lives live residence resides home : 居住 住 住在 住址 家
    married spouse wife husband partner : 配偶 妻子 丈夫 结婚 爱人 太太 先生
    parent father mother parents : 父母 父亲 母亲 爸爸 妈妈 家长
    child son daughter children : 孩子 儿子 女儿 子女
    sibling brother sister siblings : 兄弟 姐妹 哥哥 弟弟 姐姐 妹妹
    wrote writes author written writer authored : 作者 写 撰写 著 著作 编写
    painted painter painting : 画 画家 绘制
    composed composer : 作曲 作曲家
    directed director directs : 导演 执导 主任
    designed designer design architect designs : 设计 设计师 建筑师
    invented inventor invention : 发明 发明者 发明人
    discovered discoverer : 发现 发现者
    developed developer develops maintains maintainer maintained : 开发 开发者 维护 研发 维护者
    member belongs membership members joined : 成员 属于 隶属 加入 所属
    department dept : 部门
    team group squad : 团队 小组 队
    part component contains includes consists comprises : 组成 部分 包含 包括 组件
    owns owner owned ownership possesses : 拥有 所有者 主人 持有 业主
    teaches teacher taught instructor lecturer teach : 教 老师 教师 讲师 授课 任课
    studied student attended graduated studies alumnus alma educated : 毕业 毕业于 毕业院校 就读 学生 母校 学习 学校 院校
    supplies supplier supplied provides vendor delivers provider supply : 供应 供应商 提供 供货 供货商
    produces manufacturer makes manufactured produced producer maker made manufactures : 生产 制造 制造商 生产商 厂家 出品
    uses used utilizes : 使用 采用 用
    depends requires dependency needs prerequisite : 依赖 需要 前置 先修
    knows friend acquaintance friends : 认识 朋友 好友
    acquired acquisition bought : 收购 并购 买下
    subsidiary parent : 子公司 母公司
    competes competitor rival : 竞争 竞争对手 对手
    partner cooperates collaborates partnership : 合作 合作伙伴 伙伴
    invests investor invested funded funds sponsor sponsors finances backed : 投资 投资人 资助 赞助 投资方 出资
    customer client buys : 客户 顾客
    sells sold offers : 销售 出售 卖
    speaks language : 语言 会说 讲
    mentor mentors mentored advisor advises adviser trained : 导师 指导 顾问 师傅 师父 老师 徒弟
    doctor treats treated physician vet : 医生 治疗 主治
    treats cures : 治疗 医治
    causes cause : 引起 导致
    plays player instrument : 演奏 球员 乐器
    coach coaches trainer trains : 教练 训练
    borders neighbors adjacent neighbouring : 接壤 相邻 毗邻
    flows river : 流经 流入
    occupation profession role position title : 职业 职位 职务 岗位 做什么工作 什么工作 做什么的 职衔 头衔
    award won prize awarded : 奖 获得 获奖 奖项
    age old : 年龄
    population inhabitants : 人口
    opened opening inaugurated : 开放 开业 启用
    published publisher publishes : 出版 出版社 发表
    operates operator operated runs run : 运营 经营 运营商
    hosts hosted venue held host takes : 举办 主办 举行
    curator curates curated : 策展人 馆长 策展
    successor succeeded : 继任 接任 接替
    predecessor preceded : 前任
    birthday birthdate : 生日 出生日期
    email mail : 邮箱
    phone telephone : 电话
    height tall elevation high : 高度 海拔 身高
    length long : 长度
    color colour : 颜色
    eats feeds prey : 吃 食物 捕食
    habitat inhabits : 栖息 栖息地
    species kind type : 物种 种类 类型
    genre : 类型 体裁
"""
_HAN: Final = re.compile(r"[\u3400-\u9fff]+")


@lru_cache(maxsize=1)
def _index() -> dict[str, set[int]]:
    index: dict[str, set[int]] = {}
    for number, line in enumerate(filter(None, map(str.strip, _GROUPS.splitlines()))):
        latin, _, han = line.partition(":")
        for word in (*map(words.stem, latin.split()), *han.split()):
            index.setdefault(word, set()).add(number)
    return index


@lru_cache(maxsize=4096)
def concepts(word: str) -> frozenset[int]:
    """The relations that a stem or a Chinese word stands for."""
    return frozenset(_index().get(word, ()))


@lru_cache(maxsize=1)
def han_words() -> tuple[str, ...]:
    """Chinese relation words, the longest first."""
    return tuple(sorted((word for word in _index() if _HAN.fullmatch(word)), key=len, reverse=True))
